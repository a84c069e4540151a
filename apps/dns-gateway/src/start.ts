import { lookup } from 'node:dns/promises';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { AddressGuard, type ResolverAddress } from '@certwright/outbound';
import {
  closeHttpApp,
  createHttpApp,
  type HttpTls,
  type Logger,
  MemoryTokenBuckets,
  renewTls,
  repeat,
  type RunningProcess,
} from '@certwright/service';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { AppModule, type GatewayParts } from './app.module';
import { AuditLog } from './audit/audit-log';
import { recentEntries } from './audit/recent-entries';
import { admitClients } from './clients/admit-clients';
import { ClientGrants } from './clients/client-grants';
import { followTls, readTls, type TlsFiles } from './clients/tls-files';
import type { GatewayConfig } from './config';
import { openApiDocument } from './docs/openapi-document';
import { OwnAdditions } from './integrations/own-additions';
import { RequestBounds } from './integrations/request-bounds';
import { ZoneMemory } from './integrations/zone-memory';
import { operatorOf } from './operator-settings';
import { rulesOf } from './policy-settings';
import type { ProviderPorts } from './providers/dns-provider';
import { customerCall } from './providers/http/customer-call';
import { platformCall } from './providers/http/platform-call';
import { providers } from './providers/registry';
import { renderProblem } from './wire/problem';

/** Of a request, in bytes: a record, two handles and a name need a fifth of it. */
const largestBody = 64 * 1024;

/** A client's requests at once, in seconds of its rate. */
const burstS = 4;

/** Integrations whose zones are remembered; each is a few hundred bytes. */
const mostRemembered = 1_000;

/** How often the head of the audit log is told to the log, which is kept elsewhere: what lies before it cannot be rewritten unseen. */
const headEveryMs = 3_600_000;

/**
 * Opens everything and listens.
 *
 * @returns the application, which listens on `HOST` and `PORT`
 */
export async function start(config: GatewayConfig, running: RunningProcess): Promise<NestFastifyApplication> {
  const { log, metrics, readiness } = running;
  const files = tlsFilesOf(config);
  const tls = await readTls(files);
  const parts = await partsOf(config, running);
  const app = await createHttpApp(AppModule.of(parts), {
    log,
    metrics,
    readiness,
    renderProblem,
    largestBody,
    tls,
    logOf: ({ client }) => ({ client }),
    documentation: { path: '', statusPath: '/readyz', document: openApiDocument },
  });
  const ratePerS = config.CLIENT_RATE_PER_S;
  admitClients(app.getHttpAdapter().getInstance() as unknown as FastifyInstance, {
    clients: new ClientGrants(config.GATEWAY_CLIENTS),
    buckets: new MemoryTokenBuckets(),
    rate: { ratePerS, burst: burstS * ratePerS },
    now: () => new Date(),
  });
  running.opened('http', () => closeHttpApp(app, config.DRAIN_TIME));
  keepTls(app, files, tls, config.TLS_FILES_EVERY, running);
  await app.listen(config.PORT, config.HOST);
  log.info({ url: await app.getUrl() }, 'listening');
  return app;
}

async function partsOf(config: GatewayConfig, running: RunningProcess): Promise<GatewayParts> {
  const { log } = running;
  const rules = rulesOf(config);
  const { entries, newestSourceDate, sha256 } = rules.underscoredNames.version;
  log.info({ entries, newest_source_date: newestSourceDate, sha256 }, 'underscored names');
  // Before what the audit log says is read: opening it ends a line that a crash cut off.
  const audit = await openAudit(config, running);
  log.info({ marks: config.HANDLE_KEYS.marks() }, 'handle keys');
  return {
    bounds: new RequestBounds({ timeMs: config.REQUEST_TIME, mostAtOnce: config.REQUESTS_AT_ONCE }),
    handles: config.HANDLE_KEYS,
    credentialKeys: config.CREDENTIALS_KEY,
    providers: providers(operatorOf(config)),
    ports: await portsOf(config),
    memory: new ZoneMemory({
      keptMs: config.ZONES_KEPT,
      most: mostRemembered,
      nowMs: () => performance.now(),
    }),
    rules,
    own: OwnAdditions.from(await recentEntries(config.AUDIT_DIR, auditInstance(config))),
    audit,
    log,
  };
}

const auditInstance = ({ AUDIT_INSTANCE }: GatewayConfig): string => AUDIT_INSTANCE ?? hostname();

async function openAudit(config: GatewayConfig, running: RunningProcess): Promise<AuditLog> {
  const audit = await AuditLog.open({
    folder: config.AUDIT_DIR,
    instance: auditInstance(config),
    now: () => new Date(),
  });
  running.opened('audit', () => audit.close());
  running.readiness.add('audit', async () => {
    if (!audit.usable())
      throw new Error('the audit log takes nothing until a restart, so nothing is changed');
  });
  const heads = repeat(() => tellHead(audit, running.log), {
    afterErrorMs: headEveryMs,
    onError: (err) => running.log.error({ err }, 'the head of the audit log cannot be told'),
  });
  running.opened('audit heads', () => heads.stop());
  return audit;
}

function tellHead(audit: AuditLog, log: Logger): Promise<number> {
  log.info({ ...audit.head() }, 'head of the audit log');
  return Promise.resolve(headEveryMs);
}

async function portsOf(config: GatewayConfig): Promise<ProviderPorts> {
  const guard = new AddressGuard({
    allowedNetworks: config.ALLOWED_NETWORKS,
    resolvers: await Promise.all(config.DNS_RESOLVERS.map(addressOf)),
  });
  return {
    callApi: platformCall(),
    callCustomer: customerCall(guard),
    guard,
    now: () => new Date(),
    rest: async (ms, signal) => {
      await delay(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
    },
  };
}

/** A resolver that is given by name (a service of the cluster) is looked up once, by the system's own means. */
async function addressOf({ host, port }: ResolverAddress): Promise<ResolverAddress> {
  const { address } = await lookup(host);
  return { host: address, port };
}

const tlsFilesOf = (config: GatewayConfig): TlsFiles => ({
  key: config.TLS_KEY_FILE,
  certificate: config.TLS_CERTIFICATE_FILE,
  clientCa: config.CLIENT_CA_FILE,
});

function keepTls(
  app: NestFastifyApplication,
  files: TlsFiles,
  first: HttpTls,
  everyMs: number,
  { log, opened }: RunningProcess,
): void {
  const following = followTls(files, first, { everyMs, log, use: (tls) => renewTls(app, tls) });
  opened('tls files', () => following.stop());
}
