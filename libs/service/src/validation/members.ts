import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional, type ApiPropertyOptions } from '@nestjs/swagger';
import { IsBoolean, IsIn, IsString, ValidateIf } from 'class-validator';
import { ReadBy } from './read-members';

/** The member may be absent; null is a value, and has to be allowed by the member's other rules. */
export const MayBeAbsent = (): PropertyDecorator => ValidateIf((_object, value) => value !== undefined);

/** A member that callers send back because they have read it; what it says is ignored, and it is not documented. */
export const Ignored = (): PropertyDecorator => ReadBy(() => undefined);

export function BooleanMember(documented: ApiPropertyOptions): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({ type: Boolean, ...documented }),
    MayBeAbsent(),
    IsBoolean({ message: 'It must be true or false.' }),
  );
}

export function TextMember(documented: ApiPropertyOptions): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({ type: String, ...documented }),
    MayBeAbsent(),
    IsString({ message: 'It must be a string.' }),
  );
}

/** @param values the texts that are allowed */
export function EnumMember(values: readonly string[], documented: ApiPropertyOptions): PropertyDecorator {
  const quoted = values.map((value) => `"${value}"`);
  return applyDecorators(
    ApiPropertyOptional({ enum: [...values], ...documented }),
    MayBeAbsent(),
    IsIn(values, { message: `It must be ${quoted.join(' or ')}.` }),
  );
}
