import { Public } from '@certwright/service';
import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Admission } from '../admission/admission';
import { IndexReaders } from '../ct-index/index-readers';
import { bodyOf } from '../issuances/find-issuance';
import { sendBytes } from '../wire/answer';
import { cachingHeaders, isKnown } from './caching';
import { type Certificate, certificateOf } from '../issuances/certificate';
import { pemOf } from './pem';

/** RFC 2585, section 4.1; RFC 8555, section 9.1. */
const mediaTypes = { der: 'application/pkix-cert', pem: 'application/pem-certificate-chain' } as const;

/** The certificates themselves. */
@Controller('v1/issuances')
@Public()
export class CertificatesController {
  constructor(
    private readonly admission: Admission,
    private readonly readers: IndexReaders,
  ) {}

  @Get(':id.der')
  async der(
    @Req() request: FastifyRequest,
    @Param('id') id: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const certificate = await this.certificate(request, id);
    this.send(request, reply, certificate, 'der', id);
  }

  @Get(':id.pem')
  async pem(
    @Req() request: FastifyRequest,
    @Param('id') id: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const certificate = await this.certificate(request, id);
    this.send(request, reply, certificate, 'pem', id);
  }

  private async certificate(request: FastifyRequest, id: string): Promise<Certificate> {
    const { access } = await this.admission.admit(request);
    return certificateOf(await bodyOf(this.readers.within(access), id));
  }

  private send(
    request: FastifyRequest,
    reply: FastifyReply,
    certificate: Certificate,
    form: keyof typeof mediaTypes,
    id: string,
  ): void {
    const headers = cachingHeaders(certificate, form);
    if (isKnown(request.headers['if-none-match'], headers.etag)) {
      void reply.code(304).headers(headers).send();
      return;
    }
    sendBytes(reply, form === 'der' ? certificate.der : pemOf(certificate.der), {
      ...headers,
      'content-type': mediaTypes[form],
      'content-disposition': `attachment; filename="${id}.${form}"`,
    });
  }
}
