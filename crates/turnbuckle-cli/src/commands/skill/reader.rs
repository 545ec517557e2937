//! The reader of a server's skills, as the command line sets it.

use turnbuckle::skills::client::SkillReader;

use crate::args::CommonArgs;
use crate::args::limits::limit_skills;
use crate::connection::ServerConnection;

/// Returns a reader of the server's skills, with the limits of the command line.
pub(super) fn skill_reader(connection: &ServerConnection, common: &CommonArgs) -> SkillReader {
    let client = connection.client.clone();
    let address = client.address().to_owned();
    SkillReader::new(client, address).limits(limit_skills(&common.protocol.limits))
}
