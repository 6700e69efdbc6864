/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Included before a test of the machine, this makes it one of the engine: the
 * same units on the real platform.
 */
#ifndef CAY_TESTS_DEVICE_ENGINE_NAMES_H
#define CAY_TESTS_DEVICE_ENGINE_NAMES_H

#define machine_attach		     engine_attach
#define machine_close		     engine_close
#define machine_completions_returned engine_completions_returned
#define machine_configuration	     engine_configuration
#define machine_connect		     engine_connect
#define machine_counts		     engine_counts
#define machine_delay		     engine_delay
#define machine_detach		     engine_detach
#define machine_holder_gone	     engine_holder_gone
#define machine_idle		     engine_idle
#define machine_node_gone	     engine_node_gone
#define machine_observe		     engine_observe
#define machine_open		     engine_open
#define machine_origin		     engine_origin
#define machine_peek		     engine_peek
#define machine_port_counts	     engine_port_counts
#define machine_post		     engine_post
#define machine_receive		     engine_receive
#define machine_return_entries	     engine_return_entries
#define machine_route		     engine_route
#define machine_step		     engine_step
#define machine_trigger		     engine_trigger
#define machine_ultra_accept	     engine_ultra_accept
#define machine_ultra_admit	     engine_ultra_admit
#define machine_ultra_close_origin   engine_ultra_close_origin
#define machine_ultra_close_target   engine_ultra_close_target
#define machine_ultra_connect	     engine_ultra_connect
#define machine_ultra_enable	     engine_ultra_enable
#define machine_ultra_origin_gone    engine_ultra_origin_gone
#define machine_ultra_origin_status  engine_ultra_origin_status
#define machine_ultra_path	     engine_ultra_path
#define machine_ultra_return	     engine_ultra_return
#define machine_ultra_target_gone    engine_ultra_target_gone
#define machine_ultra_target_status  engine_ultra_target_status
#define machine_ultra_write	     engine_ultra_write
#define machine_window_lock	     engine_window_lock
#define machine_window_locked	     engine_window_locked
#define machine_window_quiesce	     engine_window_quiesce
#define machine_window_unlock	     engine_window_unlock

#endif
