//! The places of configuration files, on each system.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::host::{Host, Scope};

/// The directories that the files of hosts are in.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// The home directory of the user.
    home: PathBuf,
    /// The directory in which desktop programs have their settings.
    settings: PathBuf,
    /// The directory of Zed.
    zed: PathBuf,
    /// The directory of Codex.
    codex: PathBuf,
    /// The directory of the project.
    project: PathBuf,
}

impl Places {
    /// Returns the places of the current user and directory; `None` if the environment names no home
    /// directory.
    pub(super) fn from_env(project: PathBuf) -> Option<Self> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let home: PathBuf = variable(if cfg!(windows) { "USERPROFILE" } else { "HOME" })?.into();
        let absolute =
            |value: OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
        let xdg = || {
            let named = variable("XDG_CONFIG_HOME").and_then(absolute);
            named.unwrap_or_else(|| home.join(".config"))
        };
        let settings = if cfg!(windows) {
            variable("APPDATA").map_or_else(|| home.join("AppData/Roaming"), PathBuf::from)
        } else if cfg!(target_os = "macos") {
            home.join("Library/Application Support")
        } else {
            xdg()
        };
        let zed = match cfg!(windows) {
            true => settings.join("Zed"),
            false => xdg().join("zed"),
        };
        let codex = variable("CODEX_HOME").map_or_else(|| home.join(".codex"), PathBuf::from);
        Some(Self {
            home,
            settings,
            zed,
            codex,
            project,
        })
    }

    /// Returns the configuration file of a host; `None` if the host has none for the scope.
    pub(super) fn file(&self, host: Host, scope: Scope) -> Option<PathBuf> {
        let Self { home, project, .. } = self;
        Some(match (scope, host) {
            (Scope::User, Host::ClaudeDesktop) => {
                self.settings.join("Claude/claude_desktop_config.json")
            }
            (Scope::User, Host::ClaudeCode) => home.join(".claude.json"),
            (Scope::User, Host::Cursor) => home.join(".cursor/mcp.json"),
            (Scope::User, Host::VsCode) => self.settings.join("Code/User/mcp.json"),
            (Scope::User, Host::Windsurf) => home.join(".codeium/windsurf/mcp_config.json"),
            (Scope::User, Host::Zed) => self.zed.join("settings.json"),
            (Scope::User, Host::Codex) => self.codex.join("config.toml"),
            (Scope::User, Host::Gemini) => home.join(".gemini/settings.json"),
            (Scope::Project, Host::ClaudeDesktop | Host::Windsurf) => return None,
            (Scope::Project, Host::ClaudeCode) => project.join(".mcp.json"),
            (Scope::Project, Host::Cursor) => project.join(".cursor/mcp.json"),
            (Scope::Project, Host::VsCode) => project.join(".vscode/mcp.json"),
            (Scope::Project, Host::Zed) => project.join(".zed/settings.json"),
            (Scope::Project, Host::Codex) => project.join(".codex/config.toml"),
            (Scope::Project, Host::Gemini) => project.join(".gemini/settings.json"),
        })
    }

    /// Returns the hosts that seem to be installed: those that have a directory of their own, or their
    /// file.
    pub(super) fn find_installed(&self) -> Vec<Host> {
        let hosts = Host::all().iter().copied();
        hosts.filter(|host| self.is_installed(*host)).collect()
    }

    fn is_installed(&self, host: Host) -> bool {
        let directory = match host {
            Host::ClaudeDesktop => self.settings.join("Claude"),
            Host::ClaudeCode => self.home.join(".claude"),
            Host::Cursor => self.home.join(".cursor"),
            Host::VsCode => self.settings.join("Code"),
            Host::Windsurf => self.home.join(".codeium/windsurf"),
            Host::Zed => self.zed.clone(),
            Host::Codex => self.codex.clone(),
            Host::Gemini => self.home.join(".gemini"),
        };
        let file = self.file(host, Scope::User);
        directory.is_dir() || file.as_deref().is_some_and(Path::is_file)
    }
}
