//! Authorization, from the client to the server over real connections: our client with `OAuth`, our
//! server with `ResourceServer`, and the test authorization server.
//!
//! Each attack has a test. Those on one part alone are tests of that part; paths without `::` at
//! their beginning are modules here, others are of `turnbuckle-auth`.
//!
//! | attack | test |
//! |---|---|
//! | wrong audience | `resource::attack_wrong_audience_…`; auth: `server::tests::attacks::wrong_audience` |
//! | wrong issuer | auth: `server::tests::attacks::{wrong_issuer, an_issuer_cannot_sign_for_another}` |
//! | `alg: none` | auth: `server::tests::attacks::alg_none`, `dpop::tests::attacks::the_algorithm_none_is_refused` |
//! | HS/RS confusion | auth: `server::tests::attacks::{a_symmetric_algorithm_with_a_public_key_as_its_secret, a_symmetric_key_in_the_key_set}` |
//! | expired, not yet valid | auth: `server::tests::attacks::{expired, not_yet_valid, a_token_expires_in_the_cache}` |
//! | stripped scope | `scopes::attack_stripped_scope_…`; auth: `server::tests::scopes::a_stripped_scope` |
//! | replayed DPoP proof | `dpop::attack_replayed_dpop_proof_…`; auth: `server::tests::dpop::a_replayed_proof` |
//! | mix-up | `redirects::attack_mix_up_of_two_authorization_servers` |
//! | `iss` variants | `redirects::attack_iss_variants`; auth: `client::authorization_code::tests` |
//! | issuer path confusion | `urls::attack_metadata_of_another_issuer_…`; auth: `client::discovery::tests::issuer_path_confusion_is_refused` |
//! | open redirect of the authorization server | auth-testing: `authorization_server::tests::authorize::a_client_or_redirect_uri_that_is_wrong_is_never_redirected_to` |
//! | state mismatch | `redirects::attack_state_mismatch`; auth: `client::callback::tests::a_redirect_of_another_login_…` |
//! | code injection | `redirects::attack_code_injection_…`; auth-testing: `authorization_server::tests::authorize::a_code_is_bound_to_…` |
//! | SSRF by metadata | `urls::attack_ssrf_by_metadata_…`, `urls::attack_ssrf_by_endpoints_…` |
//! | SSRF by redirect | `urls::attack_ssrf_by_redirect_…`; auth: `outbound::tests::ssrf_by_redirect_…` |
//! | SSRF by DNS answer | auth: `outbound::tests::{ssrf_by_dns_answer_is_refused, a_dns_answer_that_changes_after_the_check_is_refused}` |
//! | token in logs or `Debug` | `leaks`; auth: `server::tests::privacy`, `client::grant::tests::debug_output_holds_no_secrets` |
//! | session hijack by id | `binding::attack_session_hijack_…`, `binding::attack_resuming_…`, `binding::attack_posting_…` |
//! | `requestState` of another principal | `binding::attack_request_state_of_another_principal` |
//! | huge documents | `urls::attack_huge_documents_…`; auth: `outbound::tests::huge_documents_are_refused` |
//! | slow documents | auth: `outbound::tests::slow_documents_are_given_up`, `client::discovery::tests::huge_and_slow_…`, `server::tests::keys::a_slow_key_set` |

mod binding;
mod dpop;
mod grants;
mod harness;
mod leaks;
mod login;
mod migration;
mod processes;
mod redirects;
mod refresh;
mod resource;
mod scopes;
mod urls;
