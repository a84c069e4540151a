import { applyDecorators } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiProduces, ApiResponse, ApiTags } from '@nestjs/swagger';
import { publications } from './publications';
import { ErrorSchema } from '../wire/openapi/error-schema';

const text = { schema: { type: 'string' } };
const binary = { schema: { type: 'string', format: 'binary' } };

export const describesDownload = applyDecorators(
  ApiTags('Public'),
  ApiOperation({
    operationId: 'downloadCurrentCertificate',
    summary: 'The current certificate of an order and its chain, in PEM',
  }),
  ApiResponse({ status: 200, content: { 'application/pem-certificate-chain': text } }),
  ApiResponse({ status: 202, description: 'There is no current certificate; see Retry-After' }),
  ApiResponse({ status: 404, type: ErrorSchema }),
);

export const describesPublication = applyDecorators(
  ApiTags('Public'),
  ApiOperation({
    operationId: 'getPublication',
    summary: 'Certificates and revocation lists of the built-in CA',
  }),
  ApiParam({ name: 'file', enum: [...publications.keys()] }),
  ApiProduces(...new Set([...publications.values()].map(({ contentType }) => contentType))),
  ApiResponse({ status: 200, content: { 'application/octet-stream': binary } }),
  ApiResponse({ status: 404, type: ErrorSchema }),
);
