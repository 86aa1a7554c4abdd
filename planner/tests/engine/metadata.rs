//! The Iceberg metadata of an adopted table, changed as another writer might have written it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use apache_avro::types::Value;
use apache_avro::{Reader, Schema, Writer};
use serde_json::Value as Json;

use crate::lake::Lake;

/// The files of a table's metadata. Nobody has read them until the table is queried.
pub(crate) struct Metadata {
    json: PathBuf,
}

/// An Avro file in memory.
#[derive(Clone)]
pub(crate) struct Avro {
    pub(crate) schema: Json,
    metadata: HashMap<String, Vec<u8>>,
    pub(crate) records: Vec<Value>,
}

impl Metadata {
    /// Adopts a table of a lake.
    pub(crate) async fn of_adopted(lake: &Lake, table: &str) -> Self {
        let adopted = lake.query(&format!("ADOPT TABLE {table}")).await;
        let location = adopted.column("metadata_location").remove(0);
        let json = location.strip_prefix("file://").unwrap();
        Self { json: json.into() }
    }

    /// The one manifest.
    pub(crate) fn manifest(&self) -> PathBuf {
        let mut manifests = self.avro_files(false);
        assert_eq!(manifests.len(), 1, "{manifests:?}");
        manifests.remove(0)
    }

    /// Changes every entry of the manifest.
    pub(crate) fn change_entries(&self, change: impl FnMut(&mut Value)) {
        let path = self.manifest();
        let mut manifest = Avro::read(&path);
        manifest.records.iter_mut().for_each(change);
        manifest.write(&path);
    }

    /// Changes the manifest list.
    pub(crate) fn change_list(&self, change: impl FnOnce(&mut Vec<Value>)) {
        let path = self.avro_files(true).remove(0);
        let mut list = Avro::read(&path);
        change(&mut list.records);
        list.write(&path);
    }

    /// Changes `metadata.json`.
    pub(crate) fn change_json(&self, change: impl FnOnce(&mut Json)) {
        let mut json: Json = serde_json::from_slice(&fs::read(&self.json).unwrap()).unwrap();
        change(&mut json);
        fs::write(&self.json, json.to_string()).unwrap();
    }

    fn avro_files(&self, lists: bool) -> Vec<PathBuf> {
        let files = fs::read_dir(self.json.parent().unwrap()).unwrap();
        let paths = files.map(|file| file.unwrap().path());
        let avro = paths.filter(|path| path.extension().is_some_and(|ending| ending == "avro"));
        let is_list = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with("snap-")
        };
        avro.filter(|path| is_list(path) == lists).collect()
    }
}

impl Avro {
    pub(crate) fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap();
        let reader = Reader::new(bytes.as_slice()).unwrap();
        Self {
            schema: serde_json::to_value(reader.writer_schema()).unwrap(),
            metadata: reader.user_metadata().clone(),
            records: reader.map(Result::unwrap).collect(),
        }
    }

    pub(crate) fn write(&self, path: &Path) {
        let schema = Schema::parse(&self.schema).unwrap();
        let mut writer = Writer::new(&schema, Vec::new());
        for (key, value) in &self.metadata {
            writer.add_user_metadata(key.clone(), value).unwrap();
        }
        for record in &self.records {
            writer.append(record.clone()).unwrap();
        }
        fs::write(path, writer.into_inner().unwrap()).unwrap();
    }
}

/// The type of a field of a record, in a schema.
pub(crate) fn type_of<'a>(record: &'a mut Json, name: &str) -> &'a mut Json {
    let mut fields = record["fields"].as_array_mut().unwrap().iter_mut();
    let field = fields.find(|field| field["name"] == *name);
    &mut field.unwrap()["type"]
}

/// A field of a record that may be in a union.
pub(crate) fn field<'a>(value: &'a mut Value, name: &str) -> &'a mut Value {
    let Value::Record(fields) = inside(value) else {
        panic!("it is no record and has no {name}");
    };
    let found = fields.iter_mut().find(|(field, _)| field == name);
    &mut found.unwrap().1
}

/// Null, where a field may be missing.
pub(crate) fn missing() -> Value {
    Value::Union(0, Box::new(Value::Null))
}

/// A value, where a field may be missing.
pub(crate) fn present(value: Value) -> Value {
    Value::Union(1, Box::new(value))
}

/// The data file of a manifest's entry.
pub(crate) fn data_file(entry: &mut Value) -> &mut Value {
    field(entry, "data_file")
}

/// Whether an entry is about the file whose path has this in it.
pub(crate) fn is_about(entry: &mut Value, part: &str) -> bool {
    let path = field(data_file(entry), "file_path");
    matches!(path, Value::String(path) if path.contains(part))
}

/// What a map of a data file, such as `lower_bounds`, says of a column; nothing makes it say nothing.
pub(crate) fn set_metric(entry: &mut Value, map: &str, column: i32, value: Option<&[u8]>) {
    let Value::Array(pairs) = inside(field(data_file(entry), map)) else {
        panic!("there is no {map}");
    };
    let place = pairs
        .iter_mut()
        .position(|pair| *field(pair, "key") == Value::Int(column));
    let place = place.unwrap();
    match value {
        Some(value) => *field(&mut pairs[place], "value") = Value::Bytes(value.to_vec()),
        None => drop(pairs.remove(place)),
    }
}

fn inside(value: &mut Value) -> &mut Value {
    match value {
        Value::Union(_, inner) => inside(inner),
        other => other,
    }
}
