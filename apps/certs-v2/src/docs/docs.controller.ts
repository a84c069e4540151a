import { ApiDocumentation, type DocumentationPage, Public } from '@certwright/service';
import { Controller, Get, Inject, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { CertsConfig } from '../config';
import { openApiDocument } from './openapi-document';

@Controller('api/v2/docs')
@Public()
export class DocsController {
  private readonly pages: ApiDocumentation;

  constructor(@Inject(CertsConfig) { PUBLIC_URL }: Pick<CertsConfig, 'PUBLIC_URL'>) {
    this.pages = new ApiDocumentation({
      docsPath: `${new URL(PUBLIC_URL).pathname.replace(/\/$/, '')}/api/v2/docs`,
      title: 'Certwright: certificates',
      document: async () => await Promise.resolve(openApiDocument()),
    });
  }

  @Get()
  page(@Res() reply: FastifyReply) {
    send(reply, this.pages.page());
  }

  @Get(':asset')
  async asset(@Param('asset') asset: string, @Res() reply: FastifyReply) {
    send(reply, await this.pages.asset(asset));
  }
}

/** As bytes: to a text Fastify adds a charset. */
function send(reply: FastifyReply, { headers, body }: DocumentationPage): void {
  void reply.code(200).headers(headers).send(Buffer.from(body));
}
