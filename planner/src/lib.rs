//! The planner: from SQL to endpoints, and the coordinator for the statements that are more than a
//! scan. [`Engine`] is what the Flight SQL service calls; nothing in it knows Flight SQL messages.
//! [`plan`](crate::engine::Engine::plan) is the pipeline, told in `plan.rs` on one page.

mod flight_sql;

pub mod config;
pub mod engine;
pub mod error;
pub mod serve;
pub mod session;
pub mod stream;
pub mod system;

mod plan;

mod ipc;
mod parameters;
mod query;
mod statement;
mod syntax;
mod tables;

mod context;
mod cooperate;
mod endpoints;
mod packing;
mod placement;
mod schema;
mod shape;
mod tickets;

mod commands;
mod coordinator;
mod explain;
mod log;
mod proxy;
mod remote;
mod servers;

pub use config::{EndpointMode, PlannerConfig, TICKET_FOOTERS};
pub use engine::{Endpoint, Engine, Prepared, QueryPlan, Statement};
pub use error::PlannerError;
pub use serve::{PlannerServeError, serve};
pub use session::Session;
pub use stream::{Report, ResultStream};
