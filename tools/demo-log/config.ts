import {
  boolean,
  defineSettings,
  durationMs,
  filePath,
  integer,
  list,
  oneOf,
  port,
  type SettingValues,
  string,
} from '@certwright/service';

/** The demo log: two small Certificate Transparency logs in one process, one per log API. */
export const settings = defineSettings({
  HOST: string({
    meaning: 'Address to listen on; every client that reaches it may submit',
    pattern: /^[0-9A-Fa-f.:]+$/,
    default: '127.0.0.1',
  }),
  PORT: port({ meaning: 'Its port; 0 chooses a free one', default: 4380 }),
  PUBLIC_URL: string<null>({
    meaning:
      'Where clients reach it, without a path; part of the log list, of checkpoints and of fixture certificates. Default: http, HOST and PORT',
    pattern: /^https?:\/\/[^\s/?#@]{1,260}$/,
    default: null,
  }),
  DATA_DIR: filePath({
    meaning: 'Folder with keys and entries; created when missing',
    default: 'demo-log',
  }),
  ACCEPTED_ROOTS: list(filePath({ meaning: 'A file' }), {
    meaning:
      'Files with root certificates in PEM whose chains are taken, besides those of the fixture CA; read again when they change, and they may appear later',
    default: [],
  }),
  ACCEPT_ANY_ROOT: boolean({
    meaning:
      'Whether chains up to any self-signed certificate are taken, as long as they are properly signed',
    default: false,
  }),
  FIXTURES: integer({
    meaning:
      'Fixture certificates that are made when less than half as many are unexpired; 0 for a log without any',
    unit: 'certificates',
    min: 0,
    max: 10_000,
    default: 240,
  }),
  MERGE_DELAY: durationMs({
    meaning: 'Maximum time until an entry is in a tree head',
    maxMs: 30_000,
    default: 500,
  }),
  LOG_LEVEL: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'silent'], {
    meaning: 'Minimum level of log lines',
    default: 'info',
  }),
  PID_FILE: filePath({
    meaning: 'File for the process id; removed when the process ends',
    default: null,
  }),
});

export type DemoLogConfig = SettingValues<typeof settings.table>;
