import { defineSettings, filePath, port, type SettingValues } from '@certwright/service';

/** The local mailbox: takes every mail that the platform sends, and shows it. Always on loopback: it has no login. */
export const settings = defineSettings({
  MAILBOX_SMTP_PORT: port({
    meaning: 'Port that takes mail, at 127.0.0.1; 0 takes any free one',
    default: 4361,
  }),
  MAILBOX_WEB_PORT: port({
    meaning: 'Port of the web page and API, at 127.0.0.1; 0 takes any free one',
    default: 4360,
  }),
  MAILBOX_DIR: filePath({
    meaning: 'Folder that keeps the mails over a restart; without it they are forgotten',
    default: null,
  }),
  PID_FILE: filePath({
    meaning: 'Where the process id is written; removed when the process ends',
    default: null,
  }),
});

export type MailboxConfig = SettingValues<typeof settings.table>;
