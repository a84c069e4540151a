import { type InstallationQuestion, maxTestedHosts } from '@certwright/jobs';
import { Certificates, type StoredCertificate } from '@certwright/ordering';
import { sha256Hex } from '@certwright/pki';
import { ProbeQuestions } from '@certwright/redis';
import { Injectable } from '@nestjs/common';
import { CertObjectsRepository } from '../cert-objects/cert-objects.repository';
import { noSuchCert } from '../instances/instance-reference';
import { type Answer, jsonAnswer } from '../wire/answer';
import { badParam } from '../wire/arguments';
import { readCommonName } from '../wire/common-name';
import { readOnce } from '../wire/page';
import { Refusal } from '../wire/reasons';
import { TemporaryCertificates } from './temporary-certificates';
import { TestLimit } from './test-limit';
import { testResultsJson } from './test-result-json';
import { hostsOf, readHosts, serverNameFor } from './tested-hosts';

/** As it stands in the URL. */
export interface TestQuery {
  /** Repeatable. */
  readonly hostname?: unknown;
  readonly port?: unknown;
}

const defaultPort = 443;

/** Nobody looked: a place with the prober is free again in as many seconds, as far as anybody can tell. */
const outageRetryAfterS = 10;

@Injectable()
export class TestInstallation {
  constructor(
    private readonly objects: CertObjectsRepository,
    private readonly certificates: Certificates,
    private readonly temporaries: TemporaryCertificates,
    private readonly limit: TestLimit,
    private readonly probes: ProbeQuestions,
  ) {}

  /** @throws Refusal `bad_cn`, `bad_param`, `no_such_cert`, `inactive_cert`, `rate_limited`, `service_outage` */
  async run(accountId: string, cnText: string, query: TestQuery): Promise<Answer> {
    const asked = readHosts(query.hostname);
    const port = readPort(query.port);
    const cn = readCommonName(cnText);
    const object = await this.objects.find(accountId, cn);
    if (object === null) throw noSuchCert();
    const [current] = await this.certificates.currentOf([object.planId]);
    if (current === undefined) {
      throw new Refusal(
        'inactive_cert',
        'No instance of this certificate is active, so there is nothing to find.',
      );
    }
    const hosts = asked ?? defaultHosts(current);
    if (hosts.length === 0) return jsonAnswer({ result: [] });
    await this.limit.take(accountId);
    const answer = await this.probes.askTls({
      hosts,
      port,
      serverName: serverNameFor(cn, current.dnsNames),
      ...digestsOf(current),
      temporarySha256: await this.temporaries.sha256Of(object.planId),
    });
    if (answer === null) {
      const message = 'The servers could not be looked at just now; nothing is known about them.';
      throw new Refusal('service_outage', message, { retryAfterS: outageRetryAfterS });
    }
    return jsonAnswer({ result: testResultsJson(answer.tests) });
  }
}

function readPort(value: unknown): number {
  const text = readOnce(value, 'port');
  if (text === null) return defaultPort;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw badParam('port', 'bad_param', 'must be a port, from 1 to 65535.');
  return port;
}

/** An imported certificate may have more names than those that are issued here. */
function defaultHosts({ dnsNames }: StoredCertificate): readonly string[] {
  const hosts = hostsOf(dnsNames);
  if (hosts.length <= maxTestedHosts) return hosts;
  throw badParam('hostname', 'bad_param', `must say which of the ${hosts.length} hosts are to be tested.`);
}

function digestsOf({
  leaf,
  chain,
}: StoredCertificate): Pick<InstallationQuestion, 'leafSha256' | 'chainSha256'> {
  return { leafSha256: sha256Hex(leaf), chainSha256: chain.map(sha256Hex) };
}
