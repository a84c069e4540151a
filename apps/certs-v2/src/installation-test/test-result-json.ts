import type { InstallationAnswer } from '@certwright/jobs';
import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';

@ApiSchema({ name: 'TestResult' })
export class TestResultJson {
  @ApiProperty({ description: 'Host that was tested.' }) hostname: string;
  @ApiProperty({ description: 'Address that was tested.' }) ip_address: string;
  @ApiProperty({ enum: ['conclusive', 'connect_error', 'handshake_error', 'internal_error'] })
  status: Test['status'];
  @ApiPropertyOptional({ description: 'If and only if conclusive.' }) correct?: boolean;
  @ApiPropertyOptional({ description: 'If and only if conclusive.' }) chained?: boolean;
  @ApiPropertyOptional({ description: 'If and only if conclusive: a temporary certificate was served.' })
  dummy?: boolean;
  @ApiPropertyOptional({ description: 'If and only if not conclusive.' }) error?: string;
}

type Test = InstallationAnswer['tests'][number];

/** One result for each address: a host that leads to none has none, and a client sees that nothing could be resolved. */
export function testResultsJson(tests: readonly Test[]): TestResultJson[] {
  return tests.filter(({ address }) => address !== '').map(testResultJson);
}

function testResultJson(test: Test): TestResultJson {
  const { host: hostname, address: ip_address, status } = test;
  return test.status === 'conclusive'
    ? { hostname, ip_address, status, correct: test.correct, chained: test.chained, dummy: test.temporary }
    : { hostname, ip_address, status, error: test.problem };
}
