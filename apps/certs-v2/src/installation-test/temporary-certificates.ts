import { readCsr, sha256Hex, temporaryCertificate } from '@certwright/pki';
import { Injectable } from '@nestjs/common';
import type { StoredInstance } from '../instances/instance';
import { InstancesRepository } from '../instances/instances.repository';

/** Instances that are looked back at: whoever runs the temporary certificate of an older one has forgotten it for long. */
const mostInstances = 10;

/**
 * The temporary certificates that may still be in use: of the pending instance, and of those before it, since a server goes on
 * with the temporary one until somebody exchanges it.
 */
@Injectable()
export class TemporaryCertificates {
  constructor(private readonly instances: InstancesRepository) {}

  /** @returns SHA-256 over the DER certificate, lower-case hex */
  async sha256Of(planId: string): Promise<readonly string[]> {
    const newest = await this.instances.page(planId, null, mostInstances, { csr: 'all', chain: false });
    return newest
      .map(temporaryOf)
      .filter((each) => each !== null)
      .map(sha256Hex);
  }
}

/** As it was shown while the instance was pending. @returns DER; null for an imported one */
function temporaryOf({ attempt, openedAt }: StoredInstance): Uint8Array | null {
  if (attempt === null || attempt.csr === null) return null;
  const reading = readCsr(attempt.csr);
  if (!reading.ok) throw new Error('a CSR that was accepted cannot be read any more');
  const { spkiDer } = reading.csr;
  return temporaryCertificate({ spkiDer, dnsNames: attempt.dnsNames, validFrom: openedAt });
}
