import { type RevocationReason, revocationReason, revocationReasons } from '@certwright/issuance';
import { ReadBy, Unreadable } from '@certwright/service';
import { ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';

const names = Object.entries(revocationReasons).map(([name, code]) => `${name} (${code})`);

/** The body of a revocation. */
@ApiSchema({ name: 'RevocationSchema' })
export class RevocationRequest {
  @ApiPropertyOptional({
    oneOf: [
      { type: 'string', enum: Object.keys(revocationReasons) },
      { type: 'integer', enum: Object.values(revocationReasons) },
    ],
    default: 'unspecified',
    description: 'CRLReason of RFC 5280, section 5.3.1, by name or number.',
  })
  @ReadBy(
    (value) =>
      revocationReason(value) ??
      Unreadable.because(`It must be the name or the number of one of: ${names.join(', ')}.`),
  )
  reason: RevocationReason = revocationReasons.unspecified;
}
