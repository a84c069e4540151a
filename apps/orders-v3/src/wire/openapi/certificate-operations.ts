import { applyDecorators } from '@nestjs/common';
import { ApiBasicAuth, ApiBearerAuth, ApiOperation, ApiParam, ApiResponse, ApiTags } from '@nestjs/swagger';
import { CertificateSchema } from './certificate-schema';
import { expandsCertificate, failsWith, orderName, paged } from './parameters';

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
    ApiResponse({ status: 200, type: [CertificateSchema] }),
    failsWith({ 400: 'A parameter is not valid', 404: 'No such order' }),
  ),
  retrieve: applyDecorators(
    ApiOperation({ operationId: 'getCertificate', summary: 'Retrieves a certificate of an order' }),
    orderName,
    ApiParam({ name: 'id', schema: { type: 'integer' } }),
    expandsCertificate,
    ApiResponse({ status: 200, type: CertificateSchema }),
    failsWith({ 404: 'No such order, or no such certificate' }),
  ),
};
