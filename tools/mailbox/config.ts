import { defineSettings, filePath, port, type SettingValues } from '@certwright/service';

/** The local mailbox: accepts all mail of the platform and shows it. Only on loopback, because it has no login. */
export const settings = defineSettings({
  MAILBOX_SMTP_PORT: port({
    meaning: 'Port for SMTP, on 127.0.0.1; 0 chooses a free one',
    default: 4361,
  }),
  MAILBOX_WEB_PORT: port({
    meaning: 'Port of the web page and API, on 127.0.0.1; 0 chooses a free one',
    default: 4360,
  }),
  MAILBOX_DIR: filePath({
    meaning: 'Folder that stores the mails; without it they are lost on restart',
    default: null,
  }),
  PID_FILE: filePath({
    meaning: 'File for the process id; removed when the process ends',
    default: null,
  }),
});

export type MailboxConfig = SettingValues<typeof settings.table>;
