import { applyDecorators } from '@nestjs/common';
import {
  ApiBasicAuth,
  ApiBearerAuth,
  ApiBody,
  ApiOperation,
  ApiParam,
  ApiResponse,
  ApiTags,
} from '@nestjs/swagger';
import { CertificateSchema } from './certificate-schema';
import { failsWith, posted } from './errors';
import { expandsCertificate, idempotent, orderName, paged } from './parameters';
import { RevocationSchema } from './revocation-schema';

const noSuchCertificate = { order_not_found: 'No such order', certificate_not_found: 'No such certificate' };

/** What the OpenAPI document says about each route of certificates. */
export const DescribesCertificates = {
  all: applyDecorators(ApiTags('Certificates'), ApiBearerAuth(), ApiBasicAuth()),
  list: applyDecorators(
    ApiOperation({
      operationId: 'listCertificates',
      summary: 'Lists the certificates of an order, newest first',
    }),
    orderName,
    expandsCertificate,
    paged('Id of the last certificate of the page before.'),
    ApiResponse({ status: 200, description: 'Success', type: [CertificateSchema] }),
    failsWith({ bad_query: 'A parameter is not valid', order_not_found: 'No such order' }),
  ),
  retrieve: applyDecorators(
    ApiOperation({ operationId: 'getCertificate', summary: 'Retrieves a certificate of an order' }),
    orderName,
    ApiParam({ name: 'id', schema: { type: 'integer' } }),
    expandsCertificate,
    ApiResponse({ status: 200, description: 'Success', type: CertificateSchema }),
    failsWith(noSuchCertificate),
  ),
  revoke: applyDecorators(
    ApiOperation({
      operationId: 'revokeCertificate',
      summary: 'Revokes a certificate of an order',
      description:
        'May be repeated: the first reason stays, except that keyCompromise can be said later. With keyCompromise every ' +
        'certificate of the order with this key is revoked, and the key cannot be used again in the account. When the ' +
        'current certificate is revoked and auto_renew is true, a new one is issued, unless the reason is ' +
        'cessationOfOperation.',
    }),
    orderName,
    ApiParam({ name: 'id', schema: { type: 'integer' } }),
    ApiBody({ type: RevocationSchema, required: false }),
    expandsCertificate,
    idempotent,
    ApiResponse({ status: 200, description: 'Success', type: CertificateSchema }),
    failsWith({
      bad_reason: 'The body is not valid; see sub_errors',
      ...noSuchCertificate,
      conflict: 'The certificate has expired',
      ...posted,
    }),
  ),
};
