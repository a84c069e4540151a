import type { CtLog } from '../log/ct-log';

/** Maximum merge delay in seconds. A head is signed again after half of it. */
const mmdS = 60;

/** URLs of the two logs, with a slash at the end. */
export interface LogUrls {
  readonly rfc6962: string;
  readonly static: string;
}

/** Version 3 of the log list's schema (www.gstatic.com/ct/log_list/v3/log_list_schema.json). */
export function logList(
  logs: { readonly rfc6962: CtLog; readonly static: CtLog },
  urls: LogUrls,
  since: Date,
) {
  const timestamp = since.toISOString();
  const listed = (log: CtLog, description: string) => ({
    description,
    log_id: log.signer.logId.toString('base64'),
    key: log.signer.spkiDer.toString('base64'),
    mmd: mmdS,
    state: { usable: { timestamp } },
  });
  return {
    version: '1.0.0',
    log_list_timestamp: timestamp,
    operators: [
      {
        name: 'Certwright demo',
        email: [],
        logs: [{ ...listed(logs.rfc6962, 'Certwright demo log, RFC 6962'), url: urls.rfc6962 }],
        tiled_logs: [
          {
            ...listed(logs.static, 'Certwright demo log, static'),
            submission_url: urls.static,
            monitoring_url: urls.static,
          },
        ],
      },
    ],
  };
}
