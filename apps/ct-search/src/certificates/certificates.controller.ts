import { Public } from '@certwright/service';
import { certificateOf } from '@certwright/issuance-json';
import { applyDecorators, Controller, Get, Param, Req, Res, UseGuards } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Admitted, AdmissionGuard, AdmittedRequest } from '../access/admission.guard';
import { IndexReaders } from '../ct-index/index-readers';
import { bodyOf } from '../issuances/find-issuances';
import { sendBytes } from '../wire/response';
import { Describes, issuanceId } from '../wire/openapi';

/** RFC 2585, section 4.1; RFC 8555, section 9.1. */
const mediaTypes = { der: 'application/pkix-cert', pem: 'application/pem-certificate-chain' } as const;

type Form = keyof typeof mediaTypes;

/** A certificate never changes; a precertificate is replaced by its certificate, usually within hours. */
const maxAgeS = { certificate: 86_400, precertificate: 300 } as const;

const DescribesCertificate = (form: Form, summary: string, schema: object) =>
  applyDecorators(
    Describes({
      operationId: `getIssuancesId${form === 'der' ? 'Der' : 'Pem'}`,
      summary,
      access: 'either',
      success: { content: { [mediaTypes[form]]: { schema: { type: 'string', ...schema } } } },
      headers: { ETag: 'Identifies exactly these bytes.' },
      fails: { not_found: 'No such issuance' },
    }),
    issuanceId,
    ApiHeader({ name: 'If-None-Match', description: 'Returns 304 while the certificate has this ETag.' }),
  );

/** Downloads of certificates. */
@Controller('v1/issuances')
@Public()
@UseGuards(AdmissionGuard)
export class CertificatesController {
  constructor(private readonly readers: IndexReaders) {}

  @Get(':id.der')
  @DescribesCertificate('der', 'The certificate if it is known, else the precertificate', {
    contentMediaType: 'application/octet-stream',
  })
  async der(
    @AdmittedRequest() admitted: Admitted,
    @Req() request: FastifyRequest,
    @Param('id') id: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.send(admitted, request, reply, id, 'der');
  }

  @Get(':id.pem')
  @DescribesCertificate('pem', 'The same in PEM', {})
  async pem(
    @AdmittedRequest() admitted: Admitted,
    @Req() request: FastifyRequest,
    @Param('id') id: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.send(admitted, request, reply, id, 'pem');
  }

  private async send(
    { access }: Admitted,
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
    form: Form,
  ): Promise<void> {
    const { der, sha256, precertificate } = certificateOf(await bodyOf(this.readers.within(access), id));
    const maxAge = precertificate ? maxAgeS.precertificate : maxAgeS.certificate;
    const headers = {
      etag: `"${sha256.toString('hex')}.${form}"`,
      'cache-control': `public, max-age=${maxAge}`,
    };
    if (isKnown(request.headers['if-none-match'], headers.etag)) {
      void reply.code(304).headers(headers).send();
      return;
    }
    sendBytes(reply, form === 'der' ? der : pemOf(der), {
      ...headers,
      'content-type': mediaTypes[form],
      'content-disposition': `attachment; filename="${id}.${form}"`,
    });
  }
}

/** RFC 9110, section 13.1.2: the weak comparison. @param ifNoneMatch a list of tags, or `*` */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(etag);
}

/** RFC 7468, section 5: lines of 64 characters. */
function pemOf(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
