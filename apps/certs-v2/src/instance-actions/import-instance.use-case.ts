import { Certificates } from '@certwright/ordering';
import { RepeatableRequests, type WriteRequest } from '@certwright/idempotency';
import { Injectable } from '@nestjs/common';
import { dnsNamesOf } from '../cert-objects/cert-object';
import { CertObjectsRepository } from '../cert-objects/cert-objects.repository';
import { type HttpResponse, jsonResponse } from '../wire/response';
import type { Expansion } from '../wire/expansion';
import { Refusal } from '../wire/reasons';
import type { ImportRequest } from './import-request';
import { validateImport, trustedRoots } from './imported-certificate';
import { ImportedCertificates } from './imported-certificates.repository';
import { noSuchCert } from '../instances/instance-reference';
import { InstanceViews } from '../instances/instance-views';

@Injectable()
export class ImportInstance {
  constructor(
    private readonly requests: RepeatableRequests,
    private readonly objects: CertObjectsRepository,
    private readonly imported: ImportedCertificates,
    private readonly certificates: Certificates,
    private readonly views: InstanceViews,
  ) {}

  /**
   * Imports a certificate that was issued elsewhere. It becomes the current one if it is the best.
   *
   * @throws Refusal `no_such_cert`, `bad_certificate`, `already_imported`
   */
  async run(
    write: WriteRequest,
    cn: string,
    sent: ImportRequest,
    expansion: Expansion,
  ): Promise<HttpResponse> {
    return await this.requests.run(write, async (tx) => {
      const object = await this.objects.lock(tx, write.accountId, cn);
      if (object === null) throw noSuchCert();
      const certificate = validateImport(sent, cn, trustedRoots, new Date());
      const { planId, csr } = object;
      const there = await this.imported.instanceOf(tx, planId, certificate);
      if (there !== null) throw alreadyImported(there);
      const id = await this.imported.insert(tx, object, certificate);
      const wanted = { dnsNames: dnsNamesOf(object), spkiSha256: csr.spkiSha256 };
      await this.certificates.reselectCurrent(tx, planId, wanted);
      const [shown] = await this.views.ofImported([id], expansion, tx);
      return jsonResponse(shown);
    });
  }
}

function alreadyImported(instanceId: string): Refusal {
  const message = `The certificate is already stored as instance ${instanceId}.`;
  return new Refusal('already_imported', message, { param: 'crt' });
}
