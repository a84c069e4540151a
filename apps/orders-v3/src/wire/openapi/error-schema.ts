import { fieldFaultCodes, problemCodes } from '@certwright/errors';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

export class SubErrorSchema {
  @ApiProperty()
  field: string;

  @ApiProperty({ enum: fieldFaultCodes })
  code: string;

  @ApiProperty()
  message: string;
}

export class ErrorSchema {
  @ApiProperty({
    enum: problemCodes,
    description: 'For programs. Its meaning never changes; new codes may be added.',
  })
  code: string;

  @ApiProperty({ description: 'For people; the wording may change.' })
  message: string;

  @ApiPropertyOptional()
  field: string;

  @ApiPropertyOptional({ type: [SubErrorSchema] })
  sub_errors: SubErrorSchema[];
}
