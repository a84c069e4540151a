import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { ReadBy, Unreadable } from '../validation/read-members';

/** Unicode code points. */
const maxLength = 255;

/** A member with one line of text for people, such as `description` or `note`. */
export const TextLine = () =>
  applyDecorators(
    ApiPropertyOptional({ type: String, maxLength, default: '', description: 'For people.' }),
    ReadBy((value) => {
      if (typeof value !== 'string') return Unreadable.because('It must be a string.');
      if ([...value].length > maxLength)
        return Unreadable.because(`It is longer than ${maxLength} characters.`);
      return /\p{Cc}/u.test(value) ? Unreadable.because('It has control characters.') : value;
    }),
  );
