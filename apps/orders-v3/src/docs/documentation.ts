import { ApiDocumentation } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Addresses } from '../wire/addresses';
import type { Answer } from '../wire/answer';
import { openApiDocument } from './openapi-document';

/** The documentation of this API, as its answers. */
@Injectable()
export class Documentation {
  private readonly pages: ApiDocumentation;

  constructor({ docs: docsPath }: Addresses) {
    this.pages = new ApiDocumentation({ docsPath, title: 'Certwright: orders', document: openApiDocument });
  }

  page(): Answer {
    return { status: 200, ...this.pages.page() };
  }

  /** @throws Problem `not_found` */
  async asset(name: string): Promise<Answer> {
    return { status: 200, ...(await this.pages.asset(name)) };
  }
}
