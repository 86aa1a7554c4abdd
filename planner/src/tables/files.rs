//! Asking the catalog which files can hold a match.

use model::{Predicate, ScanTask};
use wire::proto;
use wire::proto::plan_files_response::Part;

use crate::engine::Parts;
use crate::error::PlannerError;
use crate::query::TablePlan;
use crate::tables::TableMeta;

/// A file to scan.
#[derive(Clone, Debug)]
pub(crate) struct PlannedFile {
    pub(crate) task: ScanTask,
    /// Whether every row of it matches the predicate.
    pub(crate) fully_matched: bool,
}

/// The files of a table that can match, with `footers` as far as the catalog knows them, and what was skipped
/// for which reason: for the first thousand files or so, or for every one.
pub(crate) async fn plan(
    parts: &Parts,
    table: &TableMeta,
    predicate: &Predicate,
    footers: proto::FootersWanted,
    every_reason: bool,
) -> Result<(Vec<PlannedFile>, TablePlan), PlannerError> {
    let request = proto::PlanFilesRequest {
        name: Some((&table.name).into()),
        snapshot_id: Some(table.snapshot.0),
        predicate: Some(predicate.into()),
        explain: every_reason,
        footers: Some(footers),
    };
    let failed = |status| parts.catalog_failed(&status);
    let mut stream = parts
        .catalog()
        .plan_files(request)
        .await
        .map_err(failed)?
        .into_inner();
    let mut files = Vec::new();
    let mut skipped = Vec::new();
    let mut summary = None;
    while let Some(message) = stream.message().await.map_err(failed)? {
        match message.part {
            Some(Part::File(file)) => files.push(decode(file)?),
            Some(Part::Skipped(file)) => skipped.push(file),
            Some(Part::Summary(part)) => summary = Some(part),
            Some(Part::Header(_)) | None => {}
        }
    }
    // Without its summary the answer was cut off, and files may be missing from it.
    let summary = summary.ok_or_else(|| {
        PlannerError::Unavailable(format!("catalog: planning {} broke off", table.name))
    })?;
    let plan = TablePlan {
        table: table.name.clone(),
        snapshot: table.snapshot,
        summary,
        forecast: None,
        skipped,
    };
    Ok((files, plan))
}

fn decode(file: proto::PlannedFile) -> Result<PlannedFile, PlannerError> {
    Ok(PlannedFile {
        task: wire::convert::required(file.task, "scan task")?.try_into()?,
        fully_matched: file.fully_matched,
    })
}

/// The files that a limit needs: when enough rows surely match, the first files that hold them,
/// otherwise all.
pub(crate) fn enough(
    files: Vec<PlannedFile>,
    filtered: bool,
    limit: Option<u64>,
) -> Vec<PlannedFile> {
    let Some(limit) = limit else {
        return files;
    };
    let mut sure = Vec::new();
    let mut rows = 0_u64;
    for file in &files {
        if rows >= limit {
            break;
        }
        let count = file
            .task
            .file
            .record_count
            .filter(|_| file.task.rows.is_none());
        if let Some(count) = count.filter(|_| !filtered || file.fully_matched) {
            rows = rows.saturating_add(count);
            sure.push(file.clone());
        }
    }
    if rows >= limit { sure } else { files }
}

#[cfg(test)]
mod tests {
    use model::DataFile;

    use super::*;

    fn file(rows: Option<u64>, fully_matched: bool) -> PlannedFile {
        let file = DataFile {
            path: format!("{rows:?}"),
            size: 1,
            version: None,
            record_count: rows,
            footer_length: None,
            page_index: None,
        };
        PlannedFile {
            task: ScanTask {
                file,
                rows: None,
                partition_values: Vec::new(),
                footer: Vec::new(),
                footer_wanted: false,
            },
            fully_matched,
        }
    }

    #[test]
    fn a_limit_takes_only_the_files_that_surely_hold_enough() {
        let files = [
            file(Some(10), false),
            file(Some(10), true),
            file(None, true),
            file(Some(9), true),
        ];
        for (filtered, limit, expected) in [
            (false, None, 4),
            (false, Some(5), 1),
            (false, Some(11), 2),
            (false, Some(30), 4),
            (true, Some(5), 1),
            (true, Some(19), 2),
            (true, Some(20), 4),
        ] {
            let left = enough(files.to_vec(), filtered, limit);
            assert_eq!(left.len(), expected, "{filtered} {limit:?}");
        }
    }
}
