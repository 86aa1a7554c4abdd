//! SIGTERM and SIGINT ask a service to drain; a second one ends it at once.

use std::io;
use std::sync::mpsc;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Cancelled when the process is asked to end.
pub(crate) fn on_signal() -> anyhow::Result<CancellationToken> {
    let token = CancellationToken::new();
    let asked = token.clone();
    let (ready, heard) = mpsc::channel();
    // On a thread of its own: a second signal must be heard even when all others are busy.
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            let ended = listen(&asked, &ready);
            // Only a failure to begin comes here, and the caller waits for it.
            let _ = ready.send(ended);
        })?;
    heard.recv()??;
    Ok(token)
}

fn listen(asked: &CancellationToken, ready: &mpsc::Sender<io::Result<()>>) -> io::Result<()> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_io().build()?.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let _ = ready.send(Ok(()));
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
        std::process::exit(code)
    })
}
