import { applyDecorators } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiResponse, ApiTags } from '@nestjs/swagger';
import { describesErrors } from '../wire/openapi/errors';
import { publications } from './publications';

const text = { schema: { type: 'string' } };
const binary = { schema: { type: 'string', format: 'binary' } };

export const describesDownload = applyDecorators(
  ApiTags('Public'),
  ApiOperation({
    operationId: 'downloadCurrentCertificate',
    summary: 'The current certificate of an order and its chain, in PEM',
  }),
  ApiResponse({
    status: 200,
    description: 'Success',
    content: { 'application/pem-certificate-chain': text },
  }),
  ApiResponse({ status: 202, description: 'There is no current certificate; see Retry-After' }),
  describesErrors({ not_found: 'There is no such address' }),
);

export const describesPublication = applyDecorators(
  ApiTags('Public'),
  ApiOperation({
    operationId: 'getPublication',
    summary: 'Certificates and revocation lists of the built-in CA',
  }),
  ApiParam({ name: 'file', enum: [...publications.keys()] }),
  ApiResponse({
    status: 200,
    description: 'Success',
    content: Object.fromEntries([...publications.values()].map(({ contentType }) => [contentType, binary])),
  }),
  describesErrors({ not_found: 'There is no such file' }),
);
