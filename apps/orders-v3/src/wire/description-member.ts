import { ReadBy, Unreadable } from '@certwright/service';
import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';

/** Unicode code points. */
export const maxDescriptionLength = 255;

/** The member `description` of a webhook or an integration: one line of text. */
export const Description = () =>
  applyDecorators(
    ApiPropertyOptional({
      type: String,
      maxLength: maxDescriptionLength,
      default: '',
      description: 'For people.',
    }),
    ReadBy((value) => {
      if (typeof value !== 'string') return Unreadable.because('It must be a string.');
      if ([...value].length > maxDescriptionLength)
        return Unreadable.because(`It is longer than ${maxDescriptionLength} characters.`);
      return /\p{Cc}/u.test(value) ? Unreadable.because('It has control characters.') : value;
    }),
  );
