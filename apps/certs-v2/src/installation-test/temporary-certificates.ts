import { sha256Hex } from '@certwright/pki';
import { Injectable } from '@nestjs/common';
import { temporaryCertificateOf } from '../instances/instance-json';
import { InstancesRepository } from '../instances/instances.repository';

/** Newest instances whose temporary certificates are recognized; nobody is expected to run those of older ones. */
const maxInstances = 10;

/**
 * The temporary certificates that may still be in use: of the pending instance, and of those before it, since a server
 * serves the temporary one until it is replaced.
 */
@Injectable()
export class TemporaryCertificates {
  constructor(private readonly instances: InstancesRepository) {}

  /** @returns SHA-256 over the DER certificate, lower-case hex */
  async sha256Of(planId: string): Promise<readonly string[]> {
    const newest = await this.instances.page(planId, null, maxInstances, { csr: 'all', chain: false });
    return newest
      .map(temporaryCertificateOf)
      .filter((each) => each !== null)
      .map(sha256Hex);
  }
}
