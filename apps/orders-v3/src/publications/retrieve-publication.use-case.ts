import { Problem } from '@certwright/errors';
import { encodePem } from '@certwright/pki';
import type { HttpResponse } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { publicationOf } from './publications';
import { PublicationsRepository } from './publications.repository';

/** Relying parties request these repeatedly; a new revocation list is visible after at most five minutes. */
const cacheControl = 'public, max-age=300';

@Injectable()
export class RetrievePublication {
  constructor(private readonly repository: PublicationsRepository) {}

  /** @throws Problem `not_found`, also while the built-in CA has not published it yet */
  async run(file: string): Promise<HttpResponse> {
    const publication = publicationOf(file);
    const der =
      publication === undefined ? null : await this.repository.find(publication.issuer, publication.kind);
    if (publication === undefined || der === null)
      throw new Problem('not_found', 'Nothing is published at this address.');
    return {
      status: 200,
      headers: { 'content-type': publication.contentType, 'cache-control': cacheControl },
      body: publication.pem ? encodePem('CERTIFICATE', der) : der,
    };
  }
}
