import type { InstallationAnswer } from '@certwright/jobs';
import { Controller } from '@nestjs/common';
import { MessagePattern, Payload } from '@nestjs/microservices';
import { InstallationTest } from './installation-test';

@Controller()
export class TlsTestController {
  constructor(private readonly test: InstallationTest) {}

  @MessagePattern('test-installation')
  async respond(@Payload() question: unknown): Promise<InstallationAnswer | undefined> {
    return await this.test.respond(question);
  }
}
