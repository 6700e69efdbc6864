/* SPDX-License-Identifier: BSD-2-Clause */
/* Automatic progress: a thread of a domain that polls when nobody else does. */
#ifndef CAY_PROVIDER_ENGINE_H
#define CAY_PROVIDER_ENGINE_H

struct domain;
struct endpoint;
struct engine;

/* Makes domain->engine. Without the guard. 0 or -fi_errno. */
int engine_start(struct domain *);
/* Without the guard; no endpoint is left. */
void engine_stop(struct domain *);
/* An endpoint of the domain has its port. */
void engine_enable(struct domain *, struct endpoint *);
/* Before the port is closed. */
void engine_disable(struct domain *, struct endpoint *);
/* There may be something to do that no bell announces. */
void engine_wake(struct engine *);

#endif
