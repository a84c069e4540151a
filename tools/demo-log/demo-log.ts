import { rm, writeFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { checkpointOrigin } from '@certwright/ct';
import type { Logger } from '@certwright/service';
import type { DemoLogConfig } from './config';
import { crlPaths, Fixtures } from './fixtures/fixtures';
import { type FindRoutes, json, type Routes } from './http/response';
import { HttpServer } from './http/http-server';
import { logList } from './http/log-list';
import { rfc6962Routes } from './http/rfc6962-routes';
import { staticRoutes } from './http/static-routes';
import { submissionRoutes } from './http/submission-routes';
import { CtLog } from './log/ct-log';
import { makeFolder } from './log/whole-file';
import { AcceptedRoots } from './submission/accepted-roots';

const bases = { rfc6962: '/rfc6962/', static: '/static/' } as const;

interface Logs {
  readonly rfc6962: CtLog;
  readonly static: CtLog;
}

/** Two logs with separate keys on one port, and the CA of their first certificates. */
export class DemoLog {
  private findRoutes: FindRoutes | undefined;
  private readonly http: HttpServer;
  private readonly undo: (() => Promise<unknown>)[] = [];

  constructor(
    private readonly config: DemoLogConfig,
    private readonly log: Logger,
    private readonly now: () => number = Date.now,
  ) {
    this.http = new HttpServer({
      routes: () => this.findRoutes,
      onError: (error, path) => log.error({ err: error, path }, 'request failed'),
    });
  }

  /**
   * Opens the port first, so that a second process fails before it opens the files.
   *
   * @returns its URL, without a slash at the end
   * @throws LogFileFault, or the system's error; closes everything before
   */
  async start(): Promise<string> {
    const { HOST, PORT, PUBLIC_URL, PID_FILE } = this.config;
    try {
      const port = await this.http.listen(HOST, PORT);
      this.undo.push(async () => await this.http.close());
      if (PID_FILE !== null) {
        await writeFile(PID_FILE, `${process.pid}\n`);
        this.undo.push(async () => await rm(PID_FILE, { force: true }));
      }
      const url = PUBLIC_URL ?? `http://${isIPv6(HOST) ? `[${HOST}]` : HOST}:${port}`;
      await this.open(url);
      return url;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Finishes running requests and closes. */
  async stop(): Promise<void> {
    for (const step of this.undo.splice(0).reverse()) await step();
  }

  private async open(url: string): Promise<void> {
    const { DATA_DIR, FIXTURES, ACCEPTED_ROOTS } = this.config;
    await makeFolder(DATA_DIR);
    const logs = { rfc6962: await this.openLog('rfc6962'), static: await this.openLog('static') };
    const opened = new Date(this.now());
    const fixtures = FIXTURES === 0 ? null : await Fixtures.open(DATA_DIR, opened);
    const issued = (await fixtures?.replenish(FIXTURES, logs, `${url}/`, opened)) ?? 0;
    const roots = new AcceptedRoots(
      fixtures === null ? [] : [fixtures.root],
      ACCEPTED_ROOTS,
      this.now,
      (message) => this.log.warn(message),
    );
    this.findRoutes = this.routesOf(url, logs, roots, fixtures);
    const { rfc6962, static: tiled } = logs;
    this.log.info({ url, rfc6962: rfc6962.size, static: tiled.size, fixtures: issued }, 'listening');
  }

  private async openLog(kind: CtLog['kind']): Promise<CtLog> {
    const { DATA_DIR: folder, MERGE_DELAY: mergeDelayMs } = this.config;
    const log = await CtLog.open({ folder, kind, mergeDelayMs, now: this.now });
    // The server finishes its requests before their log is closed.
    this.undo.unshift(async () => await log.close());
    if (log.cutBytes > 0) this.log.warn({ log: kind, bytes: log.cutBytes }, 'removed an incomplete record');
    return log;
  }

  private routesOf(url: string, logs: Logs, roots: AcceptedRoots, fixtures: Fixtures | null): FindRoutes {
    const submitting = { roots, acceptAnyRoot: this.config.ACCEPT_ANY_ROOT };
    const urls = { rfc6962: `${url}${bases.rfc6962}`, static: `${url}${bases.static}` };
    const list = logList(logs, urls, new Date(this.now()));
    const table = new Map<string, Routes>([
      ['/healthz', { GET: () => json({ status: 'ok' }) }],
      ['/log_list.json', { GET: () => json(list) }],
      ...under(bases.rfc6962, {
        ...submissionRoutes(logs.rfc6962, submitting),
        ...rfc6962Routes(logs.rfc6962),
      }),
      ...under(bases.static, submissionRoutes(logs.static, submitting)),
      ...(fixtures === null ? [] : under('/', this.revocationListRoutes(fixtures))),
    ]);
    const origin = checkpointOrigin(urls.static);
    return (path) => {
      const routes = table.get(path);
      if (routes !== undefined || !path.startsWith(bases.static)) return routes;
      return staticRoutes(logs.static, path.slice(bases.static.length), origin);
    };
  }

  private revocationListRoutes(fixtures: Fixtures): Readonly<Record<string, Routes>> {
    const routes = (issuer: keyof typeof crlPaths): Routes => ({
      GET: () => ({
        type: 'application/pkix-crl',
        body: fixtures.revocationList(issuer, new Date(this.now())),
      }),
    });
    return { [crlPaths.e1]: routes('e1'), [crlPaths.r1]: routes('r1') };
  }
}

function under(base: string, routes: Readonly<Record<string, Routes>>): [string, Routes][] {
  return Object.entries(routes).map(([path, each]) => [`${base}${path}`, each]);
}
