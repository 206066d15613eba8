//! The service as a whole: what its handlers share, and how it starts and ends.

use std::net::SocketAddr;
use std::sync::Arc;

use curtsy_store::{LedgerPlace, MachineStore, Options, ReadableTables};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::db::ServiceDatabase;
use crate::door::ServiceDoor;
use crate::health::HealthChecks;
use crate::ingest::Runs;
use crate::{ServeError, ServeSpec, api, door, health, listen, pages};

/// What handlers share.
#[derive(Clone)]
pub(crate) struct App(Arc<AppState>);

pub(crate) struct AppState {
    pub(crate) spec: Arc<ServeSpec>,
    pub(crate) database: ServiceDatabase,
    pub(crate) runs: Runs,
    pub(crate) door: ServiceDoor,
    pub(crate) health: HealthChecks,
}

impl std::ops::Deref for App {
    type Target = AppState;
    fn deref(&self) -> &AppState {
        &self.0
    }
}

/// A service that listens.
pub struct Serving {
    /// Where it listens.
    pub address: SocketAddr,
    /// The token, if it was made at this start: it is never shown again.
    pub new_token: Option<String>,
    /// A link that signs a browser in once.
    pub sign_in: String,
    /// Runs that were cut off and go on.
    pub resumed: usize,
    app: App,
    listener: TcpListener,
}

/// Opens the database, goes on with what was cut off, and listens.
pub async fn start(spec: ServeSpec) -> Result<Serving, ServeError> {
    let listener = TcpListener::bind(spec.bind)
        .await
        .map_err(|source| ServeError::Bind { bind: spec.bind, source })?;
    let address = listener.local_addr()?;
    let spec = Arc::new(ServeSpec { bind: address, ..spec });
    let opening = Arc::clone(&spec);
    // Databases block, and a client of Postgres has a runtime of its own.
    let opened = tokio::task::spawn_blocking(move || {
        let database = open(&opening)?;
        let (door, new_token) = ServiceDoor::open(&opening, &database)?;
        let runs = Runs::new(Arc::clone(&opening), database.clone());
        let resumed = runs.resume()?;
        Ok::<_, ServeError>((database, door, new_token, runs, resumed))
    });
    let opened = opened.await.map_err(std::io::Error::other)?;
    let (database, door, new_token, runs, resumed) = opened?;
    let health = HealthChecks::new(Arc::clone(&spec), database.clone());
    let code = door.sign_in_code();
    let sign_in = format!("http://{address}/login?code={code}");
    let app = App(Arc::new(AppState { spec, database, runs, door, health }));
    Ok(Serving { address, new_token, sign_in, resumed, app, listener })
}

/// Opens the database: first the ledger makes its tables and the shared ones, then the service.
pub(crate) fn open(spec: &ServeSpec) -> Result<ServiceDatabase, ServeError> {
    let shows = ReadableTables::RiskAndPages(spec.settled.policy.risk.clone());
    drop(MachineStore::open_passing(&spec.store, Options { shows, ..Options::default() })?);
    Ok(ServiceDatabase::open(&spec.store)?)
}

/// Makes a new token for changing calls; the old one is worth nothing from the next start on.
pub fn rotate_token(store: &LedgerPlace) -> Result<String, ServeError> {
    Ok(door::rotate(&ServiceDatabase::open(store)?)?)
}

impl Serving {
    /// Serves until `stop` is done, then interrupts runs; the next start continues them.
    pub async fn serve(
        self,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServeError> {
        let app = self.app.clone();
        let router = axum::Router::new()
            .merge(api::routes())
            .merge(pages::routes())
            .fallback(pages::nothing_here)
            .layer(axum::middleware::from_fn_with_state(app.clone(), door::guard))
            .with_state(app.clone());
        let (end, ending) = watch::channel(false);
        let checking = health::keep_checking(app.clone(), end.subscribe());
        let serving = listen::serve(self.listener, router, app.spec.bounds, ending);
        let told = async {
            stop.await;
            app.runs.end_all().await;
            end.send_replace(true);
        };
        tokio::join!(serving, told, checking);
        Ok(())
    }
}
