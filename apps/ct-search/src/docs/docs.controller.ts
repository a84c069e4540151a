import { ApiDocumentation, type DocumentationPage, Public } from '@certwright/service';
import { Controller, Get, Inject, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { SearchConfig } from '../config';
import { sendBytes } from '../wire/answer';
import { openApiDocument } from './openapi-document';

@Controller('v1')
@Public()
export class DocsController {
  private readonly pages: ApiDocumentation;

  constructor(@Inject(SearchConfig) { PUBLIC_URL }: Pick<SearchConfig, 'PUBLIC_URL'>) {
    this.pages = new ApiDocumentation({
      docsPath: `${new URL(PUBLIC_URL).pathname.replace(/\/$/, '')}/v1/docs`,
      title: 'Certwright: certificate transparency search',
      document: async () => await Promise.resolve(openApiDocument()),
    });
  }

  @Get('docs')
  page(@Res() reply: FastifyReply) {
    send(reply, this.pages.page());
  }

  @Get('docs/:asset')
  async asset(@Param('asset') asset: string, @Res() reply: FastifyReply) {
    send(reply, await this.pages.asset(asset));
  }

  @Get('openapi.json')
  async document(@Res() reply: FastifyReply) {
    send(reply, await this.pages.asset('openapi.json'));
  }
}

function send(reply: FastifyReply, { headers, body }: DocumentationPage): void {
  sendBytes(reply, body, headers);
}
