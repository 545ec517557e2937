//! The echo tool among a hundred, as the SDK's README writes them: `hundred stdio` or `hundred http`.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use rmcp::{Json, ServiceExt, schemars, tool, tool_router, transport::stdio};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Words {
    message: String,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Echoed {
    message: String,
}

#[derive(Clone)]
struct Echo;

/// The whole `impl`, because the attribute does not see what a macro inside of it makes.
macro_rules! tools {
    ($($name:ident)*) => {
        #[tool_router(server_handler)]
        impl Echo {
            $(
                /// Say it again.
                #[tool]
                fn $name(&self, Parameters(Words { message }): Parameters<Words>) -> Json<Echoed> {
                    Json(Echoed { message })
                }
            )*
        }
    };
}

tools! {
    echo
    t01 t02 t03 t04 t05 t06 t07 t08 t09 t10 t11 t12 t13 t14 t15 t16 t17 t18 t19 t20 t21 t22
    t23 t24 t25 t26 t27 t28 t29 t30 t31 t32 t33 t34 t35 t36 t37 t38 t39 t40 t41 t42 t43 t44
    t45 t46 t47 t48 t49 t50 t51 t52 t53 t54 t55 t56 t57 t58 t59 t60 t61 t62 t63 t64 t65 t66
    t67 t68 t69 t70 t71 t72 t73 t74 t75 t76 t77 t78 t79 t80 t81 t82 t83 t84 t85 t86 t87 t88
    t89 t90 t91 t92 t93 t94 t95 t96 t97 t98 t99
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("stdio") => {
            Echo.serve(stdio()).await?.waiting().await?;
            Ok(())
        }
        Some("http") => http().await,
        _ => Err("stdio or http".into()),
    }
}

async fn http() -> Result<(), Box<dyn std::error::Error>> {
    let service = StreamableHttpService::new(
        || Ok(Echo),
        LocalSessionManager::default().into(),
        StreamableHttpServerConfig::default(),
    );
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?.port());
    axum::serve(listener, router).await?;
    Ok(())
}
