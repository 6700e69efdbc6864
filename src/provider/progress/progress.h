/* SPDX-License-Identifier: BSD-2-Clause */
/* Progress of endpoints. */
#ifndef CAY_PROVIDER_PROGRESS_H
#define CAY_PROVIDER_PROGRESS_H

struct domain;
struct endpoint;

/* Dispatches the events of the port, and retries what met backpressure. */
void endpoint_progress(struct endpoint *);
/* The same for all enabled endpoints. */
void domain_progress(struct domain *);

#endif
