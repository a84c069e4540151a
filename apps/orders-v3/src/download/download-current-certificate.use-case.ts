import { Problem } from '@certwright/errors';
import { Certificates } from '@certwright/ordering';
import { encodePem } from '@certwright/pki';
import { Injectable } from '@nestjs/common';
import type { HttpResponse } from '../wire/response';

/** Seconds until a caller that found no certificate may look again. */
const retryAfterS = 10;

/** 20 bytes in base64url. What looks otherwise was never handed out. */
const tokenShape = /^[A-Za-z0-9_-]{27}$/;

@Injectable()
export class DownloadCurrentCertificate {
  constructor(private readonly certificates: Certificates) {}

  /**
   * Leaf and chain without the root, in the order in which a TLS server sends them (RFC 8446, section 4.4.2).
   *
   * @throws Problem `not_found` for a token that no order has, or no order has any more
   */
  async run(token: string): Promise<HttpResponse> {
    const found = tokenShape.test(token) ? await this.certificates.currentByDownloadToken(token) : null;
    if (found === null) throw new Problem('not_found', 'There is nothing to download at this address.');
    if (found.current === null)
      return { status: 202, headers: { 'retry-after': String(retryAfterS) }, body: '' };
    const { leaf, chain } = found.current;
    return {
      status: 200,
      headers: { 'content-type': 'application/pem-certificate-chain', 'cache-control': 'no-store' },
      body: [leaf, ...chain].map((der) => encodePem('CERTIFICATE', der)).join(''),
    };
  }
}
