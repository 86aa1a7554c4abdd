//! Plan fragments as tickets carry them: datafusion-proto with [`ScanExec`] as the leaf, which is
//! encoded without its tasks. The tasks travel beside the fragment.

use std::sync::Arc;

use arrow::datatypes::DataType;
use bytes::Bytes;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::expressions::{CastExpr, Literal};
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use datafusion_proto::bytes::{
    physical_plan_from_bytes_with_extension_codec, physical_plan_to_bytes_with_extension_codec,
};
use datafusion_proto::physical_plan::{
    PhysicalExtensionCodec, PhysicalPlanDecodeContext, PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf::PhysicalExprNode;
use model::{ScanTask, TableSchema};
use prost::Message;
use wire::convert::{decode_mapping, encode_mapping, required};
use wire::proto;
use wire::schema::{decode_schema, encode_schema};

use crate::error::ScanError;
use crate::exec::ScanExec;
use crate::spec::ScanSpec;

/// Encodes a plan whose leaf is one [`ScanExec`]. Its tasks are left out.
///
/// # Errors
/// When a node or an expression of the plan cannot be encoded.
pub fn encode_fragment(plan: &Arc<dyn ExecutionPlan>) -> Result<Bytes, ScanError> {
    physical_plan_to_bytes_with_extension_codec(Arc::clone(plan), &ScanCodec).map_err(fragment)
}

/// Decodes what [`encode_fragment`] made, and gives its leaf the tasks: one partition per inner list.
/// Functions are looked up in `context`.
///
/// # Errors
/// When the bytes are no fragment, name a function that `context` does not have, or do not hold
/// exactly one scan.
pub fn decode_fragment(
    bytes: &[u8],
    context: &TaskContext,
    partitions: Vec<Vec<ScanTask>>,
) -> Result<Arc<dyn ExecutionPlan>, ScanError> {
    let plan = physical_plan_from_bytes_with_extension_codec(bytes, context, &ScanCodec)
        .map_err(fragment)?;
    let mut partitions = Some(partitions);
    let mut scans = 0;
    let plan = plan
        .transform_up(|node| {
            let Some(scan) = node.downcast_ref::<ScanExec>() else {
                return Ok(Transformed::no(node));
            };
            scans += 1;
            let tasks = partitions.take().unwrap_or_default();
            let scan: Arc<dyn ExecutionPlan> = Arc::new(scan.with_partitions(tasks));
            Ok(Transformed::yes(scan))
        })
        .map_err(fragment)?;
    if scans == 1 {
        Ok(plan.data)
    } else {
        Err(ScanError::Fragment(format!(
            "expected one scan, found {scans}"
        )))
    }
}

// By value, for `map_err`.
#[allow(clippy::needless_pass_by_value)]
fn fragment(error: DataFusionError) -> ScanError {
    ScanError::Fragment(error.strip_backtrace())
}

/// Encodes [`ScanExec`] inside datafusion-proto plans.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScanCodec;

impl PhysicalExtensionCodec for ScanCodec {
    fn try_decode(
        &self,
        buf: &[u8],
        _inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let spec = proto::ScanSpec::decode(buf).map_err(external)?;
        let decoding = PhysicalPlanDecodeContext::new(context, self);
        let spec = decode_spec(spec, &decoding, converter)?;
        Ok(Arc::new(ScanExec::new(Arc::new(spec), Vec::new())))
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let Some(scan) = node.downcast_ref::<ScanExec>() else {
            let reason = format!("{} cannot be sent to a Flight server", node.name());
            return Err(DataFusionError::NotImplemented(reason));
        };
        let filter = scan
            .spec()
            .filter
            .clone()
            .map(without_half_literals)
            .transpose()?;
        let filter = filter.map(|filter| converter.physical_expr_to_proto(&filter, self));
        encode_spec(scan.spec(), filter.transpose()?.as_ref())?
            .encode(buf)
            .map_err(external)
    }
}

/// The same expression without literals of 16-bit floats: datafusion-proto turns those into 32-bit
/// ones, which no longer compare with their column.
fn without_half_literals(expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
    let widened = expr.transform_up(|node| {
        let literal = node.downcast_ref::<Literal>().map(Literal::value);
        let Some(ScalarValue::Float16(value)) = literal else {
            return Ok(Transformed::no(node));
        };
        let wide = ScalarValue::Float32(value.map(half::f16::to_f32));
        let cast = CastExpr::new(Arc::new(Literal::new(wide)), DataType::Float16, None);
        Ok(Transformed::yes(Arc::new(cast) as Arc<dyn PhysicalExpr>))
    })?;
    Ok(widened.data)
}

fn encode_spec(spec: &ScanSpec, filter: Option<&PhysicalExprNode>) -> Result<proto::ScanSpec> {
    let projection = spec
        .projection
        .iter()
        .map(|position| u32::try_from(*position));
    Ok(proto::ScanSpec {
        table: Some((&spec.table).into()),
        schema: encode_schema(spec.schema.arrow()),
        mapping: encode_mapping(spec.mapping),
        projection: projection.collect::<Result<_, _>>().map_err(external)?,
        filter: filter.map(Message::encode_to_vec),
        predicate: Some((&spec.predicate).into()),
        limit: spec.limit,
    })
}

fn decode_spec(
    spec: proto::ScanSpec,
    context: &PhysicalPlanDecodeContext<'_>,
    converter: &dyn PhysicalProtoConverterExtension,
) -> Result<ScanSpec> {
    let schema = decode_schema(&spec.schema).map_err(external)?;
    let schema = TableSchema::try_new(schema).map_err(external)?;
    let filter = spec.filter.map(|bytes| -> Result<Arc<dyn PhysicalExpr>> {
        let node = PhysicalExprNode::decode(bytes.as_slice()).map_err(external)?;
        converter.proto_to_physical_expr(&node, &schema.without_ids(), context)
    });
    Ok(ScanSpec {
        table: required(spec.table, "table").map_err(external)?.into(),
        projection: decode_projection(&spec.projection, &schema)?,
        mapping: decode_mapping(spec.mapping).map_err(external)?,
        filter: filter.transpose()?,
        predicate: required(spec.predicate, "predicate")
            .and_then(TryInto::try_into)
            .map_err(external)?,
        limit: spec.limit,
        schema,
    })
}

fn decode_projection(positions: &[u32], schema: &TableSchema) -> Result<Vec<usize>> {
    let columns = schema.ids().len();
    let positions = positions
        .iter()
        .map(|position| match usize::try_from(*position) {
            Ok(position) if position < columns => Ok(position),
            _ => Err(external(ScanError::Fragment(format!(
                "column {position} of a table of {columns} columns"
            )))),
        });
    positions.collect()
}

fn external(error: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::logical_expr::Operator;
    use datafusion::physical_expr::expressions::{Column, binary, col, lit};
    use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
    use datafusion::prelude::SessionContext;
    use model::{
        ColumnMapping, DataFile, Datum, Interval, Predicate, RowRange, TableName, ValueSet,
        interval::End,
    };

    use super::*;

    fn spec() -> ScanSpec {
        let schema = Schema::new(vec![
            Field::new("order_id", DataType::Int64, false),
            Field::new("a.b", DataType::Utf8, true),
        ]);
        let schema = TableSchema::numbered(&schema);
        let order_id = col("order_id", schema.arrow()).unwrap();
        let filter = binary(order_id, Operator::Gt, lit(5_i64), schema.arrow()).unwrap();
        let values = Interval::new(End::Exclusive(Datum::Int(5)), End::Unbounded);
        let id = schema.id_of("order_id").unwrap();
        ScanSpec {
            table: TableName::main("orders"),
            mapping: ColumnMapping::ByName,
            projection: vec![1, 0],
            filter: Some(filter),
            predicate: Predicate::column(id, "order_id", ValueSet::of(values), false),
            limit: Some(7),
            schema,
        }
    }

    fn task() -> ScanTask {
        ScanTask {
            file: DataFile {
                path: "file:///orders/part-0.parquet".to_owned(),
                size: 10,
                version: None,
                record_count: Some(100),
                footer_length: None,
                page_index: None,
            },
            rows: Some(RowRange { start: 1, end: 9 }),
            partition_values: Vec::new(),
            footer: Vec::new(),
            footer_wanted: false,
        }
    }

    fn projected(leaf: ScanExec) -> Arc<dyn ExecutionPlan> {
        let column = ProjectionExpr {
            expr: Arc::new(Column::new("a.b", 0)),
            alias: "renamed".to_owned(),
        };
        Arc::new(ProjectionExec::try_new(vec![column], Arc::new(leaf)).unwrap())
    }

    fn shown(value: &impl Debug) -> String {
        format!("{value:?}")
    }

    #[test]
    fn a_fragment_survives_the_way_there_and_back_and_takes_its_tasks_then() {
        let plan = projected(ScanExec::new(Arc::new(spec()), vec![vec![task()]]));
        let bytes = encode_fragment(&plan).unwrap();
        let context = SessionContext::new().task_ctx();
        let tasks = vec![vec![task()], vec![task(), task()]];
        let decoded = decode_fragment(&bytes, &context, tasks.clone()).unwrap();
        assert_eq!(decoded.schema(), plan.schema());
        let leaf = decoded.children()[0].downcast_ref::<ScanExec>().unwrap();
        assert_eq!(leaf.partitions(), tasks);
        assert_eq!(shown(leaf.spec()), shown(&spec()));
    }

    #[test]
    fn a_filter_with_functions_is_resolved_where_it_is_decoded() {
        let context = SessionContext::new();
        let schema = spec().schema;
        let frame = datafusion::common::DFSchema::try_from(schema.without_ids()).unwrap();
        let filter = context
            .parse_sql_expr("upper(\"a.b\") = 'X'", &frame)
            .unwrap();
        let filter = context.create_physical_expr(filter, &frame).unwrap();
        let spec = ScanSpec {
            filter: Some(filter),
            ..spec()
        };
        let plan: Arc<dyn ExecutionPlan> = Arc::new(ScanExec::new(Arc::new(spec.clone()), vec![]));
        let bytes = encode_fragment(&plan).unwrap();
        let decoded = decode_fragment(&bytes, &context.task_ctx(), vec![]).unwrap();
        let leaf = decoded.downcast_ref::<ScanExec>().unwrap();
        assert_eq!(
            leaf.spec().filter.as_ref().unwrap().to_string(),
            spec.filter.unwrap().to_string()
        );
        let stranger = TaskContext::default();
        let error = decode_fragment(&bytes, &stranger, vec![]).unwrap_err();
        assert!(error.to_string().contains("upper"), "{error}");
    }

    #[test]
    fn bytes_that_are_no_fragment_are_refused() {
        let context = SessionContext::new().task_ctx();
        for bytes in [&b""[..], b"nonsense", &[0xff; 64]] {
            decode_fragment(bytes, &context, vec![]).unwrap_err();
        }
        let plan: Arc<dyn ExecutionPlan> = Arc::new(ScanExec::new(Arc::new(spec()), vec![]));
        let bytes = encode_fragment(&plan).unwrap();
        for length in 0..bytes.len() {
            let _ = decode_fragment(&bytes[..length], &context, vec![]);
        }
    }

    #[test]
    fn a_plan_without_a_scan_is_no_fragment() {
        let schema = spec().output_schema();
        let plan: Arc<dyn ExecutionPlan> =
            Arc::new(datafusion::physical_plan::empty::EmptyExec::new(schema));
        let bytes = encode_fragment(&plan).unwrap();
        let context = SessionContext::new().task_ctx();
        let error = decode_fragment(&bytes, &context, vec![]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "plan fragment: expected one scan, found 0"
        );
    }
}
