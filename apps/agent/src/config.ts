/** The only reader of the environment. Everything else is in the configuration file; docs/agent.md explains both. */
export interface Environment {
  /** `CERTWRIGHT_JOIN`: the join string, for `enrol`. */
  readonly joinString: string | undefined;
  /** `CERTWRIGHT_AGENT_CONFIG`: path of the configuration. Default: /etc/certwright-agent/agent.toml. */
  readonly configurationFile: string | undefined;
  /** Set by systemd when standard error is the journal (systemd.exec(5)). */
  readonly isJournal: boolean;
  /** Of test, reload and csr_command: everything except the join string, and what the unit sets for the agent's own memory. */
  readonly ofCommands: Readonly<Record<string, string | undefined>>;
}

const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export function readEnvironment(): Environment {
  const {
    CERTWRIGHT_JOIN: joinString,
    CERTWRIGHT_AGENT_CONFIG: configurationFile,
    MALLOC_ARENA_MAX: _heaps,
    MALLOC_TRIM_THRESHOLD_: _kept,
    ...rest
  } = process.env;
  return {
    joinString,
    configurationFile,
    isJournal: rest['JOURNAL_STREAM'] !== undefined,
    // Cron has /usr/bin:/bin only, but servers are in /usr/sbin.
    ofCommands: {
      ...rest,
      PATH: [rest['PATH'], defaultPath].filter((part) => part !== undefined && part !== '').join(':'),
    },
  };
}
