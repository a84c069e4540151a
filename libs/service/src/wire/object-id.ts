import { Param } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import { documentedParameter } from '../validation/request-parts';

/** `@ObjectId() id: string`: not validated. */
export const ObjectId = (description?: string) =>
  documentedParameter(Param('id'), ApiParam({ name: 'id', schema: { type: 'integer' }, description }));

/** Ids of objects: a positive integer up to 2^53 - 1 in canonical decimal. */
export function isObjectId(text: string): boolean {
  return /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text));
}
