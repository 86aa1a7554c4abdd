//! SIGTERM and SIGINT ask a service to drain; a second one ends it at once.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Cancelled when the process is asked to end.
pub(crate) fn on_signal() -> anyhow::Result<CancellationToken> {
    let token = CancellationToken::new();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let asked = token.clone();
    tokio::spawn(async move {
        let mut next = async || {
            tokio::select! {
                _ = terminate.recv() => 143,
                _ = interrupt.recv() => 130,
            }
        };
        next().await;
        tracing::info!("asked to end: streams may finish, a second signal ends at once");
        asked.cancel();
        let code = next().await;
        std::process::exit(code);
    });
    Ok(token)
}
