import { phases } from '@certwright/issuance';
import { ApiProperty } from '@nestjs/swagger';

export class IssuanceErrorSchema {
  @ApiProperty({ example: 'approval_timeout' })
  code: string;

  @ApiProperty()
  message: string;
}

export class RecordOptionSchema {
  @ApiProperty({ example: '_acme-challenge.example.com.' })
  name: string;

  @ApiProperty({ enum: ['CNAME', 'NS'] })
  type: string;

  @ApiProperty({ example: 'mfrggzdfmztwq2lknnwg23tpobyxe43u.approve.certwright.test.' })
  value: string;
}

export class ApprovalRecordSchema {
  @ApiProperty({
    type: [RecordOptionSchema],
    description: 'Any one of these standing records approves the name.',
  })
  options: RecordOptionSchema[];
}

export class NameApprovalSchema {
  @ApiProperty({ example: 'example.com' })
  dns_name: string;

  @ApiProperty({
    enum: ['dns', 'http', 'email'],
    type: String,
    nullable: true,
    description: 'What approved the name.',
  })
  approval_method: string | null;

  @ApiProperty({ enum: ['pending', 'approved'] })
  status: string;

  @ApiProperty({ type: String, nullable: true, description: 'What the last check found.' })
  problem: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  checked_at: string | null;

  @ApiProperty()
  record: ApprovalRecordSchema;
}

export class IssuanceSchema {
  @ApiProperty({ enum: phases })
  phase: string;

  @ApiProperty({ type: IssuanceErrorSchema, nullable: true })
  last_error: IssuanceErrorSchema | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'null: only a change of the order moves it.',
  })
  next_attempt_at: string | null;

  @ApiProperty({ type: [NameApprovalSchema] })
  names: NameApprovalSchema[];
}
