//! The service as a whole: what its handlers share, and how it starts and ends.

use std::net::SocketAddr;
use std::sync::Arc;

use curtsy_store::{LedgerPlace, MachineStore, Options, ReadableTables};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::db::Database;
use crate::door::Door;
use crate::health::Health;
use crate::ingest::Runs;
use crate::{ServeError, ServeSpec, api, door, health, listen, pages};

/// What handlers share.
#[derive(Clone)]
pub(crate) struct App(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) spec: Arc<ServeSpec>,
    pub(crate) database: Database,
    pub(crate) runs: Runs,
    pub(crate) door: Door,
    pub(crate) health: Health,
}

impl std::ops::Deref for App {
    type Target = Shared;
    fn deref(&self) -> &Shared {
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
        let (door, new_token) = Door::open(&opening, &database)?;
        let runs = Runs::new(Arc::clone(&opening), database.clone());
        let resumed = runs.resume()?;
        Ok::<_, ServeError>((database, door, new_token, runs, resumed))
    });
    let opened = opened.await.map_err(std::io::Error::other)?;
    let (database, door, new_token, runs, resumed) = opened?;
    let health = Health::new(Arc::clone(&spec), database.clone());
    let code = door.sign_in_code();
    let sign_in = format!("http://{address}/login?code={code}");
    let app = App(Arc::new(Shared { spec, database, runs, door, health }));
    Ok(Serving { address, new_token, sign_in, resumed, app, listener })
}

/// Opens the database: the ledger makes its tables and those that it keeps for us, then we make ours.
pub(crate) fn open(spec: &ServeSpec) -> Result<Database, ServeError> {
    let shows = ReadableTables::RiskAndPages(spec.settled.policy.risk.clone());
    drop(MachineStore::open_passing(&spec.store, Options { shows, ..Options::default() })?);
    Ok(Database::open(&spec.store)?)
}

/// Makes a new token for changing calls; the old one is worth nothing from the next start on.
pub fn rotate_token(store: &LedgerPlace) -> Result<String, ServeError> {
    Ok(door::rotate(&Database::open(store)?)?)
}

impl Serving {
    /// Serves until `stop` is done, then lets runs end as if they had been killed: the next start goes on with them.
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
