/* SPDX-License-Identifier: BSD-2-Clause */
/* CAY_API marks exported symbols; all others are hidden. */
#ifndef CAY_EXPORT_H
#define CAY_EXPORT_H

#define CAY_API __attribute__((visibility("default")))

#endif
