import { maxHostsOfLook } from '@certwright/endpoint-checks';
import { Certificates, type StoredCertificate } from '@certwright/ordering';
import { sha256Hex } from '@certwright/pki';
import { ProbeQuestions } from '@certwright/redis';
import { Injectable } from '@nestjs/common';
import { CertObjectsRepository } from '../cert-objects/cert-objects.repository';
import { temporaryCertificateOf } from '../instances/instance-json';
import { noSuchCert } from '../instances/instance-reference';
import { InstancesRepository } from '../instances/instances.repository';
import { type HttpResponse, jsonResponse } from '../wire/response';
import { badParam, IntegerArgument, RepeatableArgument } from '../wire/arguments';
import { Refusal } from '../wire/reasons';
import type { Expected } from './check-presented';
import { TestLimit } from './test-limit';
import { testResultsJson } from './test-results';
import { hostsOf, readHosts, serverNameFor } from './tested-hosts';

export class TestQuery {
  @RepeatableArgument(
    { description: 'Host name or address; repeatable. Default: every host name of the certificate.' },
    readHosts,
  )
  hostname?: readonly string[];
  @IntegerArgument(1, 65_535, { description: 'Default 443.' }) port?: number;
}

/** Newest instances whose temporary certificates are recognized; older ones are unlikely to be in use. */
const maxInstances = 10;

/** Seconds after which the prober is likely to have a free place again. */
const outageRetryAfterS = 10;

@Injectable()
export class TestInstallation {
  constructor(
    private readonly objects: CertObjectsRepository,
    private readonly certificates: Certificates,
    private readonly instances: InstancesRepository,
    private readonly limit: TestLimit,
    private readonly probes: ProbeQuestions,
  ) {}

  /** @throws Refusal `bad_param`, `no_such_cert`, `inactive_cert`, `rate_limited`, `service_outage` */
  async run(accountId: string, cn: string, { hostname, port = 443 }: TestQuery): Promise<HttpResponse> {
    const object = await this.objects.find(accountId, cn);
    if (object === null) throw noSuchCert();
    const [current] = await this.certificates.currentOf([object.planId]);
    if (current === undefined) {
      throw new Refusal(
        'inactive_cert',
        'No instance of this certificate is active, so there is nothing to find.',
      );
    }
    const hosts = hostname ?? defaultHosts(current);
    if (hosts.length === 0) return jsonResponse({ result: [] });
    await this.limit.take(accountId);
    const expected = {
      ...digestsOf(current),
      temporarySha256: await this.temporarySha256Of(object.planId),
    };
    const look = await this.probes.askLook({
      hosts: hosts.map((host) => ({ host, ports: [port] })),
      serverName: serverNameFor(cn, current.dnsNames),
      withHttpStatus: false,
    });
    if (look === null) {
      const message = 'The servers could not be tested now.';
      throw new Refusal('service_outage', message, { retryAfterS: outageRetryAfterS });
    }
    return jsonResponse({ result: testResultsJson(look, expected) });
  }

  /**
   * Of the temporary certificates that may still be in use: of the pending instance and of those before it, since a server
   * serves the temporary one until it is replaced.
   *
   * @returns SHA-256 over the DER certificate, lower-case hex
   */
  private async temporarySha256Of(planId: string): Promise<readonly string[]> {
    const newest = await this.instances.page(planId, null, maxInstances, { csr: 'all', chain: false });
    return newest
      .map(temporaryCertificateOf)
      .filter((each) => each !== null)
      .map(sha256Hex);
  }
}

/** An imported certificate may have more names than those that are issued here. */
function defaultHosts({ dnsNames }: StoredCertificate): readonly string[] {
  const hosts = hostsOf(dnsNames);
  if (hosts.length <= maxHostsOfLook) return hosts;
  throw badParam('hostname', 'bad_param', `must say which of the ${hosts.length} hosts are to be tested.`);
}

function digestsOf({ leaf, chain }: StoredCertificate): Pick<Expected, 'leafSha256' | 'chainSha256'> {
  return { leafSha256: sha256Hex(leaf), chainSha256: chain.map(sha256Hex) };
}
