import type { WebRuleAnswer } from '@certwright/jobs';
import { Controller } from '@nestjs/common';
import { MessagePattern, Payload } from '@nestjs/microservices';
import { WebRuleProbe } from './web-rule-probe';

@Controller()
export class WebRuleController {
  constructor(private readonly probe: WebRuleProbe) {}

  @MessagePattern('probe-web-rule')
  async respond(@Payload() question: unknown): Promise<WebRuleAnswer> {
    return await this.probe.respond(question);
  }
}
