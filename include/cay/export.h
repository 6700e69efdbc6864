/* SPDX-License-Identifier: BSD-2-Clause */
/* What the library shows; everything without CAY_API is hidden. */
#ifndef CAY_EXPORT_H
#define CAY_EXPORT_H

#define CAY_API __attribute__((visibility("default")))

#endif
