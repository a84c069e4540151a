import type { Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';

/** A member that is always present, and may be null. @param type of the member; `integer` for a whole number */
export const ApiNullable = (type: Type | StringConstructor | 'integer', description: string) =>
  ApiProperty({ type, nullable: true, description });

/** A whole number. */
export const ApiInteger = (description: string) => ApiProperty({ type: 'integer', description });

/** A list that is always present. */
export const ApiList = (type: Type | StringConstructor, description: string) =>
  ApiProperty({ type: [type], description });
