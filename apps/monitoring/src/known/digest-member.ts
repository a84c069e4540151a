import { ReadBy, Unreadable } from '@certwright/service';
import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';

/** Documents a digest of requests and responses. */
export const documentedDigest = (description: string): ApiPropertyOptions => ({
  type: String,
  description: `${description}, in hexadecimal.`,
  pattern: '^[0-9A-Fa-f]{64}$',
});

/** A required member that is a SHA-256 in hexadecimal, of either case; becomes its bytes. */
export const Digest = (description: string) =>
  applyDecorators(
    ApiProperty(documentedDigest(description)),
    ReadBy(
      (value) => {
        if (value === undefined)
          return new Unreadable([{ code: 'missing_field', message: 'It is required.' }]);
        if (typeof value === 'string' && /^[0-9A-Fa-f]{64}$/.test(value)) return Buffer.from(value, 'hex');
        return Unreadable.because('It must be a SHA-256 in hexadecimal: 64 characters.');
      },
      { isRequired: true },
    ),
  );
