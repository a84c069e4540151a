import { revocationReasons } from '@certwright/issuance';
import { ApiPropertyOptional } from '@nestjs/swagger';

export class RevocationSchema {
  @ApiPropertyOptional({
    oneOf: [
      { type: 'string', enum: Object.keys(revocationReasons) },
      { type: 'integer', enum: Object.values(revocationReasons) },
    ],
    default: 'unspecified',
    description: 'CRLReason of RFC 5280, section 5.3.1, by name or number.',
  })
  reason: string | number;
}
