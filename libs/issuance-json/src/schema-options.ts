import type { ApiPropertyOptions } from '@nestjs/swagger';

type Options = (description: string) => ApiPropertyOptions;
export const text: Options = (description) => ({ type: String, description });
export const integer: Options = (description) => ({ type: 'integer', description });
export const instant: Options = (description) => ({ type: String, format: 'date-time', description });
export const orNull = (of: Options, description: string): ApiPropertyOptions => ({
  ...of(description),
  nullable: true,
});

export const hexDigest = (description: string, more = ''): ApiPropertyOptions => ({
  type: String,
  description: `${description} SHA-256, lower-case hexadecimal. ${more}`.trimEnd(),
  pattern: '^[0-9a-f]{64}$',
});
