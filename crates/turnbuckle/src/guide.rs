//! The guide's chapters. Their snippets are compiled and run as doctests.

#[doc = include_str!("../../../docs/guide/src/introduction.md")]
struct Introduction;

#[doc = include_str!("../../../docs/guide/src/first-server.md")]
struct FirstServer;

#[doc = include_str!("../../../docs/guide/src/tools.md")]
struct Tools;

#[doc = include_str!("../../../docs/guide/src/arguments.md")]
struct Arguments;

#[doc = include_str!("../../../docs/guide/src/results.md")]
struct Results;

#[doc = include_str!("../../../docs/guide/src/errors.md")]
struct Errors;

#[doc = include_str!("../../../docs/guide/src/resources.md")]
struct Resources;

#[doc = include_str!("../../../docs/guide/src/prompts.md")]
struct Prompts;

#[doc = include_str!("../../../docs/guide/src/providers.md")]
struct Providers;

#[doc = include_str!("../../../docs/guide/src/composition.md")]
struct Composition;

#[doc = include_str!("../../../docs/guide/src/policy.md")]
struct Policy;

#[doc = include_str!("../../../docs/guide/src/middleware.md")]
struct Middleware;

#[doc = include_str!("../../../docs/guide/src/asking.md")]
struct Asking;

#[doc = include_str!("../../../docs/guide/src/progress.md")]
struct Progress;

#[doc = include_str!("../../../docs/guide/src/tasks.md")]
struct LongWork;

#[doc = include_str!("../../../docs/guide/src/command-line.md")]
struct CommandLine;

#[doc = include_str!("../../../docs/guide/src/transports.md")]
struct Transports;

#[doc = include_str!("../../../docs/guide/src/axum.md")]
struct Axum;

#[doc = include_str!("../../../docs/guide/src/deploy.md")]
struct Deploy;

#[doc = include_str!("../../../docs/guide/src/keys.md")]
struct Keys;

#[doc = include_str!("../../../docs/guide/src/instances.md")]
struct Instances;

#[doc = include_str!("../../../docs/guide/src/stores.md")]
struct Stores;

#[doc = include_str!("../../../docs/guide/src/own-stores.md")]
struct OwnStores;

#[doc = include_str!("../../../docs/guide/src/tracing.md")]
struct Tracing;

#[doc = include_str!("../../../docs/guide/src/testing.md")]
struct Testing;

#[doc = include_str!("../../../docs/guide/src/check.md")]
struct Check;

#[doc = include_str!("../../../docs/guide/src/inspect.md")]
struct Inspect;

#[doc = include_str!("../../../docs/guide/src/clients.md")]
struct Clients;

#[doc = include_str!("../../../docs/guide/src/answering.md")]
struct Answering;

#[doc = include_str!("../../../docs/guide/src/servers.md")]
struct Servers;

#[doc = include_str!("../../../docs/guide/src/gateway.md")]
struct Gateway;

#[doc = include_str!("../../../docs/guide/src/example-servers.md")]
struct ExampleServers;

#[doc = include_str!("../../../docs/guide/src/hosts.md")]
struct Hosts;

#[doc = include_str!("../../../docs/guide/src/auth-server.md")]
struct AuthServer;

#[doc = include_str!("../../../docs/guide/src/auth-client.md")]
struct AuthClient;

#[doc = include_str!("../../../docs/guide/src/auth-unattended.md")]
struct AuthUnattended;

#[doc = include_str!("../../../docs/guide/src/auth-testing.md")]
struct AuthTesting;

#[doc = include_str!("../../../docs/guide/src/revisions.md")]
struct Revisions;

#[doc = include_str!("../../../docs/guide/src/skills.md")]
struct Skills;

#[doc = include_str!("../../../docs/guide/src/extensions.md")]
struct Extensions;

#[doc = include_str!("../../../docs/guide/src/own-extensions.md")]
struct OwnExtensions;

#[doc = include_str!("../../../docs/guide/src/without-macros.md")]
struct WithoutMacros;

#[doc = include_str!("../../../docs/guide/src/from-rmcp.md")]
struct FromRmcp;

#[doc = include_str!("../../../docs/guide/src/from-fastmcp.md")]
struct FromFastMcp;

#[doc = include_str!("../../../docs/guide/src/troubleshooting.md")]
struct Troubleshooting;
